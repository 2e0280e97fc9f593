// The two digests of wdelta. XXH3-128 tells blocks apart at memory speed and proves nothing to an attacker; SHA-256 is
// identity: of files, of packs, and of everything built from block digests. Home of <xxhash.h> and of OpenSSL's EVP.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "core/bytes.h"

namespace wdelta {

// In canonical (big-endian) byte order, as `xxh128sum` prints it.
using BlockDigest = std::array<uint8_t, 16>;
using Sha256Digest = std::array<uint8_t, 32>;

// The short form of a block digest that packs store: its low 64 bits.
inline uint64_t ShortDigest(const BlockDigest& digest) {
  return __builtin_bswap64(Load<uint64_t>(digest.data() + 8));
}

BlockDigest DigestBlock(ByteSpan bytes);

// XXH3-64, for tables in memory; never stored.
uint64_t Hash64(ByteSpan bytes);

// XXH3-128 of bytes that arrive in pieces.
class BlockHasher {
 public:
  BlockHasher();
  ~BlockHasher();
  BlockHasher(const BlockHasher&) = delete;
  BlockHasher& operator=(const BlockHasher&) = delete;
  void Reset();
  void Update(ByteSpan bytes);
  BlockDigest Finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// SHA-256 of bytes that arrive in pieces. Finish() may be called once.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  Sha256& Update(ByteSpan bytes);
  Sha256& Update(std::string_view text) { return Update(AsBytes(text)); }
  Sha256Digest Finish();
  Sha256 Clone() const;  // goes on from here on its own
  // What takes bytes piece by piece, as ForEachPiece hands them on.
  auto Taker() {
    return [this](ByteSpan bytes) -> Result<> {
      Update(bytes);
      return {};
    };
  }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

inline Sha256Digest DigestSha256(ByteSpan bytes) {
  return Sha256().Update(bytes).Finish();
}

// The keyed form of SHA-256 that signs requests.
Sha256Digest HmacSha256(ByteSpan key, std::string_view text);

// `bytes` random bytes of the system, in hexadecimal: a name that nobody else has.
std::string RandomHex(size_t bytes);

// Lower-case hexadecimal, and back; nullopt-like failure (false) for anything that is not exactly `out` in hex.
std::string Hex(ByteSpan bytes);
bool FromHex(std::string_view hex, MutableByteSpan out);

// One line that names the versions of the libraries behind these digests, for --version.
std::string DigestLibraryVersions();

}  // namespace wdelta
