#include "core/blake3_hasher.h"

#ifdef WDELTA_BLAKE3
#include <blake3.h>
#endif

namespace wdelta {

#ifdef WDELTA_BLAKE3

struct Blake3Hasher::State {
  State() { blake3_hasher_init(&hasher); }
  blake3_hasher hasher;
};

std::string Blake3Hasher::LibraryVersion() {
  return blake3_version();
}

void Blake3Hasher::Update(ByteSpan bytes) {
  blake3_hasher_update(&state_->hasher, bytes.data(), bytes.size());
}

Blake3Digest Blake3Hasher::Finish() const {
  Blake3Digest digest;
  blake3_hasher_finalize(&state_->hasher, digest.data(), digest.size());
  return digest;
}

#else

struct Blake3Hasher::State {};

std::string Blake3Hasher::LibraryVersion() {
  return "";
}

void Blake3Hasher::Update(ByteSpan) {}

Blake3Digest Blake3Hasher::Finish() const {
  return {};
}

#endif

Blake3Hasher::Blake3Hasher() : state_(std::make_unique<State>()) {}
Blake3Hasher::~Blake3Hasher() = default;

}  // namespace wdelta
