#include "checkpoint/identity.h"

#include <doctest/doctest.h>

namespace wdelta {
namespace {

using Shape = std::vector<uint64_t>;

TensorDigest Digest(std::string_view name, Dtype dtype, const Shape& shape, std::string_view content) {
  TensorHasher hasher(name, dtype, shape);
  if (!content.empty()) hasher.Add(DigestBlock(AsBytes(content)));
  return hasher.Finish();
}

TEST_CASE("a tensor digest depends on name, dtype, shape and content, and on nothing else") {
  const TensorDigest digest = Digest("w", Dtype::kBF16, {2, 2}, "12345678");
  CHECK(digest == Digest("w", Dtype::kBF16, {2, 2}, "12345678"));
  CHECK(digest != Digest("v", Dtype::kBF16, {2, 2}, "12345678"));
  CHECK(digest != Digest("w", Dtype::kF16, {2, 2}, "12345678"));
  CHECK(digest != Digest("w", Dtype::kBF16, {4}, "12345678"));
  CHECK(digest != Digest("w", Dtype::kBF16, {2, 2}, "12345679"));
}

TEST_CASE("a tensor digest is SHA-256 over the words that the format names") {
  // "wdelta tensor 1", name, dtype as texts with their length; rank; dimensions; XXH3-128 of each block.
  std::string text =
      "\x0fwdelta tensor 1\x01w\x04"
      "BF16\x02\x02";
  text += "\xac\x02";  // 300
  const BlockDigest block = DigestBlock(AsBytes("data"));
  text += AsText(block);
  CHECK(Digest("w", Dtype::kBF16, {2, 300}, "data") == DigestSha256(AsBytes(text)));
}

TEST_CASE("the digest of blocks depends on their order") {
  const BlockDigest a = DigestBlock(AsBytes("a")), b = DigestBlock(AsBytes("b"));
  TensorHasher first("w", Dtype::kU8, Shape{2}), second("w", Dtype::kU8, Shape{2});
  first.Add(a), first.Add(b);
  second.Add(b), second.Add(a);
  CHECK(first.Finish() != second.Finish());
}

TEST_CASE("a fingerprint depends on which tensors there are") {
  const TensorDigest v = Digest("v", Dtype::kU8, {1}, "x"), w = Digest("w", Dtype::kU8, {1}, "x");
  CHECK(Fingerprint(std::vector{v, w}) == Fingerprint(std::vector{v, w}));
  CHECK(Fingerprint(std::vector{v, w}) != Fingerprint(std::vector{w, v}));
  CHECK(Fingerprint(std::vector{v}) != Fingerprint(std::vector{v, v}));
  CHECK(Fingerprint({}) != Fingerprint(std::vector{v}));
}

TEST_CASE("a state depends on the fingerprint and on the layout") {
  const Sha256Digest a = DigestSha256(AsBytes("a")), b = DigestSha256(AsBytes("b"));
  CHECK(CombineState(a, b).fingerprint == a);
  CHECK(CombineState(a, b).layout == b);
  CHECK(CombineState(a, b).state != CombineState(b, a).state);
  CHECK(CombineState(a, b).state != CombineState(a, a).state);
  CHECK(CombineState(a, b) == CombineState(a, b));
}

}  // namespace
}  // namespace wdelta
