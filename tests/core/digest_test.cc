#include "core/digest.h"

#include <doctest/doctest.h>

#include <cstring>

namespace wdelta {
namespace {

TEST_CASE("SHA-256 gives the digests of the standard") {
  CHECK(Hex(DigestSha256({})) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(Hex(DigestSha256(AsBytes("abc"))) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("XXH3 gives the digests that xxhsum prints") {
  CHECK(Hex(DigestBlock({})) == "99aa06d3014798d86001c324468d497f");
  CHECK(Hex(DigestBlock(AsBytes("abc"))) == "06b05ab6733a618578af5f94892f3950");
  CHECK(Hash64(AsBytes("abc")) == 0x78af5f94892f3950);
  CHECK(ShortDigest(DigestBlock(AsBytes("abc"))) == 0x78af5f94892f3950);  // the low half
}

TEST_CASE("bytes that arrive in pieces have the digest of the whole") {
  Bytes bytes(5000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 31 >> 3);
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{240}, size_t{4096}}) {
    Sha256 sha256;
    BlockHasher block;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      const ByteSpan part = ByteSpan(bytes).subspan(at, std::min(piece, bytes.size() - at));
      sha256.Update(part);
      block.Update(part);
    }
    CHECK(sha256.Finish() == DigestSha256(bytes));
    CHECK(block.Finish() == DigestBlock(bytes));
    block.Reset();
    CHECK(block.Finish() == DigestBlock({}));
  }
}

TEST_CASE("a cloned SHA-256 goes on by itself") {
  Sha256 first;
  first.Update("ab");
  Sha256 second = first.Clone();
  first.Update("c");
  second.Update("d");
  CHECK(first.Finish() == DigestSha256(AsBytes("abc")));
  CHECK(second.Finish() == DigestSha256(AsBytes("abd")));
}

TEST_CASE("hexadecimal is read back only when it is lower-case and of the right length") {
  Bytes out(3);
  REQUIRE(FromHex("00ff1a", out));
  CHECK(out == Bytes{0x00, 0xff, 0x1a});
  CHECK(Hex(out) == "00ff1a");
  for (const char* text : {"00FF1a", "00ff1", "00ff1a0", "00ff1g", " 0ff1a", ""}) CHECK_FALSE(FromHex(text, out));
}

}  // namespace
}  // namespace wdelta
