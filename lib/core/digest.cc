#include "core/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <xxhash.h>

#include <cstdlib>

namespace wdelta {

namespace {

BlockDigest Canonical(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  BlockDigest digest;
  std::memcpy(digest.data(), canonical.digest, digest.size());
  return digest;
}

}  // namespace

BlockDigest DigestBlock(ByteSpan bytes) {
  return Canonical(XXH3_128bits(bytes.data(), bytes.size()));
}

uint64_t Hash64(ByteSpan bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

struct BlockHasher::State {
  XXH3_state_t* xxh = XXH3_createState();
  State() {
    if (!xxh) std::abort();  // out of memory for 600 bytes
  }
  ~State() { XXH3_freeState(xxh); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

BlockHasher::BlockHasher() : state_(std::make_unique<State>()) {
  Reset();
}
BlockHasher::~BlockHasher() = default;
void BlockHasher::Reset() {
  XXH3_128bits_reset(state_->xxh);
}
void BlockHasher::Update(ByteSpan bytes) {
  XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
}
BlockDigest BlockHasher::Finish() const {
  return Canonical(XXH3_128bits_digest(state_->xxh));
}

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() {
    // Fails only when OpenSSL has no SHA-256 at all; there is nothing sensible to do without it.
    if (!context || EVP_DigestInit_ex(context, EVP_sha256(), nullptr) != 1) std::abort();
  }
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

Sha256& Sha256::Update(ByteSpan bytes) {
  if (EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) != 1) std::abort();
  return *this;
}

Sha256Digest Sha256::Finish() {
  Sha256Digest digest;
  if (EVP_DigestFinal_ex(state_->context, digest.data(), nullptr) != 1) std::abort();
  return digest;
}

Sha256 Sha256::Clone() const {
  Sha256 clone;
  if (EVP_MD_CTX_copy_ex(clone.state_->context, state_->context) != 1) std::abort();
  return clone;
}

Sha256Digest HmacSha256(ByteSpan key, std::string_view text) {
  Sha256Digest digest;
  const ByteSpan bytes = AsBytes(text);
  if (!HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes.data(), bytes.size(), digest.data(), nullptr))
    std::abort();
  return digest;
}

std::string RandomHex(size_t bytes) {
  Bytes random(bytes);
  if (RAND_bytes(random.data(), static_cast<int>(bytes)) != 1) std::abort();
  return Hex(random);
}

std::string Hex(ByteSpan bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const uint8_t byte : bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

bool FromHex(std::string_view hex, MutableByteSpan out) {
  if (hex.size() != out.size() * 2) return false;
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  for (size_t i = 0; i < out.size(); ++i) {
    const int high = digit(hex[2 * i]);
    const int low = digit(hex[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return true;
}

std::string DigestLibraryVersions() {
  const unsigned xxh = XXH_versionNumber();
  return std::string(OpenSSL_version(OPENSSL_VERSION_STRING)).insert(0, "openssl ") + ", xxhash " +
         std::to_string(xxh / 10000) + "." + std::to_string(xxh / 100 % 100) + "." + std::to_string(xxh % 100);
}

}  // namespace wdelta
