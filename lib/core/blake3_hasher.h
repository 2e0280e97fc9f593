// BLAKE3 of bytes that arrive in pieces. Nothing of ours is named by it: only deltas of other systems have it, for
// stores that nobody trusts. The library is an extra, built in where pkg-config finds libblake3. Home of <blake3.h>.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "core/bytes.h"

namespace wdelta {

using Blake3Digest = std::array<uint8_t, 32>;

class Blake3Hasher {
 public:
  // Empty: this build is without it. Then Finish() is all zeros, which is the digest of nothing that anybody has.
  static std::string LibraryVersion();

  Blake3Hasher();
  ~Blake3Hasher();
  Blake3Hasher(const Blake3Hasher&) = delete;
  Blake3Hasher& operator=(const Blake3Hasher&) = delete;
  void Update(ByteSpan bytes);
  Blake3Digest Finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wdelta
