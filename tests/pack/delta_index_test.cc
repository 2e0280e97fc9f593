#include "pack/delta_index.h"

#include "support/expect.h"

namespace wdelta {
namespace {

DeltaIndex Sample() {
  DeltaIndex index;
  const Sha256Digest digest = DigestSha256(AsBytes("x"));
  index.layout.shards = {{"a.safetensors", 100, digest, 64}};
  index.layout.companions = {{"config.json", 2, digest, 0}};
  index.layout.exclude = {"*.md"};
  index.carried = {false, true};
  index.base = CombineState(digest, digest);
  index.result = CombineState(digest, index.layout.Digest());
  index.totals = {1000, 3, 2000, 6, 5, 2, 1, 1, 1};
  TensorRecord changed{"b", ChangeKind::kChanged, Dtype::kBF16, {2, 3}, Dtype::kU8, {}, 1, 3, 77};
  TensorRecord retyped{"c", ChangeKind::kRetyped, Dtype::kF32, {4}, Dtype::kF16, {2, 2}, 4, 4, 78};
  index.tensors = {changed, retyped};
  index.removed = {{"a", Dtype::kF6E2M3, {4}}};
  index.base_tensors = {1, 2, 3};
  return index;
}

Result<DeltaIndex> Again(const DeltaIndex& index) {
  DeltaIndex read;
  read.anchor = index.anchor;
  WD_TRY(DecodeLayout(EncodeLayout(index), read));
  WD_TRY(DecodeIndex(EncodeIndex(index), read));
  return read;
}

TEST_CASE("an index comes back as it went in") {
  const DeltaIndex index = Sample();
  const auto read = Again(index);
  REQUIRE_OK(read);
  CHECK(read->layout.Digest() == index.layout.Digest());
  CHECK(read->layout.shards[0].data_bytes == 64);
  CHECK(read->layout.exclude == index.layout.exclude);
  CHECK(read->carried == index.carried);
  CHECK(read->base == index.base);
  CHECK(read->result == index.result);
  CHECK(read->totals.files_changed == 1);
  CHECK(read->totals.elements_total == 1000);
  REQUIRE(read->tensors.size() == 2);
  CHECK(read->tensors[1].name == "c");
  CHECK(read->tensors[1].kind == ChangeKind::kRetyped);
  CHECK(read->tensors[1].old_dtype == Dtype::kF16);
  CHECK(read->tensors[1].old_shape == std::vector<uint64_t>{2, 2});
  CHECK(read->tensors[1].digest == 78);
  CHECK(read->tensors[0].units_changed == 3);
  REQUIRE(read->removed.size() == 1);
  CHECK(read->removed[0].dtype == Dtype::kF6E2M3);
  CHECK(read->base_tensors == index.base_tensors);
}

TEST_CASE("an index that contradicts itself is refused") {
  const auto refuse = [](const std::function<void(DeltaIndex&)>& change, const std::string& words) {
    DeltaIndex index = Sample();
    change(index);
    CHECK_FAILS(Again(index), ErrorKind::kIntegrity, words);
  };
  refuse([](DeltaIndex& index) { index.result.layout[0] ^= 1; }, "layout is not the one");
  refuse([](DeltaIndex& index) { std::swap(index.tensors[0], index.tensors[1]); }, "out of order");
  refuse([](DeltaIndex& index) { index.tensors[1].name = "b"; }, "out of order");
  refuse([](DeltaIndex& index) { index.tensors[1].ordinal = 1; }, "out of order");
  refuse([](DeltaIndex& index) { index.tensors[1].ordinal = 5; }, "out of order");
  refuse([](DeltaIndex& index) { index.tensors[0].kind = ChangeKind::kSame; }, "kind of change");
  refuse([](DeltaIndex& index) { index.tensors[0].kind = ChangeKind::kRemoved; }, "kind of change");
  refuse([](DeltaIndex& index) { index.tensors[0].shape = {uint64_t{1} << 63, 2}; }, "shape overflows");
  refuse([](DeltaIndex& index) { index.tensors[0].units_changed = 1000; }, "more elements changed");
  refuse([](DeltaIndex& index) { index.tensors[0].name = "\xff"; }, "UTF-8");
  refuse([](DeltaIndex& index) { index.removed.push_back(index.removed[0]); }, "out of order");
  refuse([](DeltaIndex& index) { index.layout.shards[0].bytes = 7; }, "impossible length");
  refuse([](DeltaIndex& index) { index.layout.shards[0].bytes = kMaxHeaderBytes + 9; }, "impossible length");
  refuse([](DeltaIndex& index) { index.anchor = true; }, "anchor that needs a base");
}

TEST_CASE("an index with a hostile file name is refused by policy") {
  DeltaIndex index = Sample();
  index.layout.companions[0].path = "../../.ssh/authorized_keys";
  CHECK_FAILS(Again(index), ErrorKind::kRefused, "authorized_keys");
}

TEST_CASE("more patterns than anybody needs are refused before they are stored") {
  DeltaIndex index = Sample();
  index.layout.include.assign(kMaxPatterns, "*");
  REQUIRE_OK(Again(index));
  index.layout.include.emplace_back("*");
  CHECK_FAILS(Again(index), ErrorKind::kIntegrity, "more than 1000 patterns");
}

TEST_CASE("an index that is cut short anywhere, or goes on, is refused") {
  const DeltaIndex index = Sample();
  const Bytes layout = EncodeLayout(index), body = EncodeIndex(index);
  for (size_t length = 0; length < layout.size(); ++length) {
    DeltaIndex read;
    CHECK_FALSE(DecodeLayout(ByteSpan(layout).first(length), read).ok());
  }
  for (size_t length = 0; length < body.size(); ++length) {
    DeltaIndex read;
    REQUIRE_OK(DecodeLayout(layout, read));
    CHECK_FALSE(DecodeIndex(ByteSpan(body).first(length), read).ok());
  }
  Bytes longer = body;
  longer.push_back(0);
  DeltaIndex read;
  REQUIRE_OK(DecodeLayout(layout, read));
  CHECK_FAILS(DecodeIndex(longer, read), ErrorKind::kIntegrity, "too many");
}

}  // namespace
}  // namespace wdelta
