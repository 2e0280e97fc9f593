// TRL's sparse patches: each form is read to the last bit, and nothing wrong in one gets through.
#include "support/expect.h"
#include "support/foreign_patch.h"
#include "support/random_checkpoint.h"
#include "wdelta.h"

namespace wdelta {
namespace {

using Metadata = std::vector<std::pair<std::string, std::string>>;

const Bytes kOld = {0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f};
const Bytes kNew = {0x80, 0x3f, 0x81, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0xbf, 0x80, 0x3f};
const Bytes kValues = {0x81, 0x3f, 0x80, 0xbf};
const std::vector<uint64_t> kShape = {2, 4};

Metadata Said(const std::string& encoding = "", const std::string& sparse = "True") {
  Metadata metadata = {{"format", "sparse_weight_patch"},
                       {"version", "1"},
                       {"sparse", sparse},
                       {"model_version", "7"},
                       {"sparsity", "0.75"},
                       {"num_changed_params", "1"},
                       {"total_changed_elements", "2"},
                       {"total_elements", "8"},
                       {"changed_params", "[\"w\"]"}};
  if (!encoding.empty()) metadata.emplace_back("encoding", encoding);
  return metadata;
}

MadeTensor List(const std::string& name, Dtype dtype, Bytes data) {
  const uint64_t length = data.size() / UnitBytes(dtype);
  return {name, dtype, {length}, std::move(data)};
}

struct Patch {
  Result<std::unique_ptr<ForeignDelta>> Open(const std::vector<MadeTensor>& tensors, const Metadata& metadata) const {
    folder.Write("patch", SafetensorsText({"patch", tensors, metadata, 0}));
    return OpenTrl(folder / "patch", {});
  }
  // What a patch makes of the example.
  Result<Bytes> Apply(const std::vector<MadeTensor>& tensors, const Metadata& metadata, size_t block = 16) const {
    WD_ASSIGN(const std::unique_ptr<ForeignDelta> delta, Open(tensors, metadata));
    if (delta->tensors().size() != 1) return Error{ErrorKind::kUsage, "not one tensor"};
    return PatchTensor(*delta, 0, Dtype::kBF16, kShape, kOld, block);
  }
  ScratchFolder folder;
};

const MadeTensor kFirstIndices = List("w.indices", Dtype::kI32, {1, 0, 0, 0, 6, 0, 0, 0});
const MadeTensor kFirstValues = List("w.values", Dtype::kBF16, kValues);
const MadeTensor kShortValuesOf = List("w.val", Dtype::kBF16, kValues);

TEST_CASE("a TRL patch of every version turns the old tensor into the new one, in blocks of any size") {
  const Patch patch;
  for (const size_t block : {2, 4, 6, 10, 14, 16}) {
    CAPTURE(block);
    const auto check = [&](const std::vector<MadeTensor>& tensors, const Metadata& metadata) {
      const auto turned = patch.Apply(tensors, metadata, block);
      REQUIRE_OK(turned);
      CHECK(*turned == kNew);
    };
    check({kFirstIndices, kFirstValues}, Said());
    check({kFirstValues, kFirstIndices}, Said());
    check({List("w.idx", Dtype::kI32, kFirstIndices.data), kShortValuesOf}, Said("raw"));
    check({kShortValuesOf, List("w.idx", Dtype::kU16, {1, 0, 4, 0})}, Said("gap_delta"));
    check({kShortValuesOf, List("w.idx", Dtype::kU32, {1, 0, 0, 0, 4, 0, 0, 0})}, Said("gap_delta"));
    check({List("w.idx", Dtype::kU16, {1, 0, 4, 0}), kShortValuesOf}, Said());
  }
}

TEST_CASE("the worked examples of TRL patches lie in the file as the format has them") {
  const Patch patch;
  const std::string first = SafetensorsText({"patch", {kFirstIndices, kFirstValues}, Said(), 0});
  CHECK(first.ends_with(std::string("\x01\x00\x00\x00\x06\x00\x00\x00\x81\x3f\x80\xbf", 12)));
  REQUIRE_OK(patch.Open({kFirstIndices, kFirstValues}, Said()));
  CHECK(LooksLikeTrl(patch.folder / "patch"));
}

TEST_CASE("a TRL patch says its version, its size and its tensors by name") {
  const Patch patch;
  Metadata metadata = Said("gap_delta");
  const std::vector<MadeTensor> tensors = {List("b.val", Dtype::kBF16, {}), List("a.val.idx", Dtype::kU16, {0, 0}),
                                           List("b.idx", Dtype::kU16, {}), List("a.val.val", Dtype::kBF16, {1, 2})};
  {
    const auto delta = patch.Open(tensors, metadata);
    REQUIRE_OK(delta);
    CHECK((*delta)->kind() == "TRL patch");
    CHECK((*delta)->version() == "7");
    CHECK((*delta)->base_version().empty());
    CHECK((*delta)->bytes() == patch.folder.Read("patch").size());
    REQUIRE((*delta)->tensors().size() == 2);
    CHECK((*delta)->tensors()[0].name == "a.val");
    CHECK((*delta)->tensors()[1].name == "b");
    CHECK((*delta)->tensors()[0].dtype == Dtype::kBF16);
    CHECK_FALSE((*delta)->tensors()[0].shape);
    CHECK((*delta)->tensors()[0].checksum_kind == ForeignChecksum::kNone);
    CHECK(*PatchTensor(**delta, 1, Dtype::kBF16, kShape, kOld, 16) == kOld);
    CHECK(*PatchTensor(**delta, 0, Dtype::kBF16, {}, {9, 9}, 2) == Bytes{1, 2});
  }
  metadata.emplace_back("prev_model_version", "5");
  CHECK((*patch.Open(tensors, metadata))->base_version() == "5");
  metadata.emplace_back("wdelta.base_version", "6");
  CHECK((*patch.Open(tensors, metadata))->base_version() == "6");
  metadata = Said();
  metadata.emplace_back("prev_model_version", "-1");
  CHECK((*patch.Open({}, metadata))->base_version().empty());
  CHECK((*patch.Open({}, metadata))->tensors().empty());
}

TEST_CASE("a TRL anchor holds every tensor in full, whatever its name ends in") {
  const Patch patch;
  const std::vector<MadeTensor> tensors = {{"w.idx", Dtype::kBF16, kShape, kNew}, {"a", Dtype::kBF16, {}, {3, 4}}};
  const auto anchor = patch.Open(tensors, Said("gap_delta", "False"));
  REQUIRE_OK(anchor);
  REQUIRE((*anchor)->tensors().size() == 2);
  CHECK((*anchor)->tensors()[1].shape == kShape);
  for (const size_t block : {1, 3, 16}) CHECK(*PatchTensor(**anchor, 1, Dtype::kBF16, kShape, kOld, block) == kNew);
  CHECK(*PatchTensor(**anchor, 0, Dtype::kBF16, {}, {0, 0}, 2) == Bytes{3, 4});
  CHECK_FAILS((*anchor)->Open(1, Dtype::kBF16, std::vector<uint64_t>{4, 2}), ErrorKind::kConflict,
              "tensor 'w.idx' is BF16[2,4], but the base has it as BF16[4,2]");
  CHECK_FAILS(patch.Open({{"a", Dtype::kF32, {1}, Bytes(4)}}, Said("", "False")), ErrorKind::kIntegrity,
              "tensor 'a': its values are F32, not BF16");
}

TEST_CASE("a TRL patch is not taken for a tensor that it cannot be of") {
  const Patch patch;
  const auto delta = patch.Open({kFirstIndices, kFirstValues}, Said());
  REQUIRE_OK(delta);
  const auto opened = (*delta)->Open(0, Dtype::kF32, kShape);
  CHECK_FAILS(opened, ErrorKind::kConflict, "tensor 'w' is BF16[2,4], but the base has it as F32[2,4]");
  CHECK(opened.error().tensor == "w");
  CHECK_FAILS((*delta)->Open(0, Dtype::kBF16, std::vector<uint64_t>{(uint64_t{1} << 31) + 1}), ErrorKind::kRefused,
              "over 2^31 elements");
  REQUIRE_OK((*delta)->Open(0, Dtype::kBF16, std::vector<uint64_t>{uint64_t{1} << 31}));
  CHECK_FAILS((*delta)->Open(0, Dtype::kBF16, std::vector<uint64_t>{UINT64_MAX, 4}), ErrorKind::kRefused, "2^31");
}

TEST_CASE("indices of a TRL patch that are negative, do not rise or lie outside of the tensor are refused by name") {
  const Patch patch;
  const auto fails = [&](const MadeTensor& indices, const std::string& words) {
    const bool first_version = indices.name == "w.indices";
    for (const size_t block : {2, 6, 16}) {
      const auto turned = patch.Apply({indices, first_version ? kFirstValues : kShortValuesOf}, Said(), block);
      CHECK_FAILS(turned, ErrorKind::kIntegrity, "is a malformed TRL patch: tensor 'w': " + words);
      CHECK(turned.error().tensor == "w");
    }
  };
  fails(List("w.indices", Dtype::kI32, {1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}), "an index is negative");
  fails(List("w.indices", Dtype::kI32, {0, 0, 0, 0x80, 6, 0, 0, 0}), "an index is negative");
  fails(List("w.indices", Dtype::kI32, {6, 0, 0, 0, 1, 0, 0, 0}), "positions do not rise");
  fails(List("w.indices", Dtype::kI32, {1, 0, 0, 0, 1, 0, 0, 0}), "positions do not rise");
  fails(List("w.indices", Dtype::kI32, {1, 0, 0, 0, 8, 0, 0, 0}), "a position lies outside of the tensor");
  fails(List("w.idx", Dtype::kU16, {1, 0, 6, 0}), "a position lies outside of the tensor");
  fails(List("w.idx", Dtype::kU32, {1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}), "a position lies outside of the tensor");
}

TEST_CASE("a TRL patch whose parts do not fit one another is refused when it is opened") {
  const Patch patch;
  const auto fails = [&](const std::vector<MadeTensor>& tensors, const Metadata& metadata, const std::string& words) {
    CHECK_FAILS(patch.Open(tensors, metadata), ErrorKind::kIntegrity, words);
  };
  fails({kFirstIndices}, Said(), "tensor 'w': it has indices, but no values");
  fails({kFirstValues}, Said(), "tensor 'w': it has values, but no indices");
  fails({kShortValuesOf}, Said("raw"), "tensor 'w': it has values, but no indices");
  fails({kFirstIndices, kFirstValues, List("x", Dtype::kBF16, {})}, Said(), "'x' is not a part of one");
  fails({kFirstIndices, kFirstValues, List("x.idx", Dtype::kI32, {})}, Said(), "'x.idx' is not a part of one");
  fails({kFirstIndices, List("w.values", Dtype::kBF16, {1, 2})}, Said(), "does not have as many indices as values");
  fails({kFirstIndices, {"w.values", Dtype::kBF16, {1, 2}, kValues}}, Said(), "as many indices as values");
  fails({kFirstIndices, List("w.values", Dtype::kF16, kValues)}, Said(), "its values are F16, not BF16");
  fails({List("w.indices", Dtype::kI64, Bytes(16)), kFirstValues}, Said(), "its indices are I64");
  fails({List("w.indices", Dtype::kU16, Bytes(4)), kFirstValues}, Said(), "its indices are U16");
  fails({List("w.idx", Dtype::kU16, Bytes(4)), kShortValuesOf}, Said("raw"), "its indices are U16");
  fails({List("w.idx", Dtype::kI32, Bytes(8)), kShortValuesOf}, Said("gap_delta"), "its indices are I32");
  fails({List("w.idx", Dtype::kU8, Bytes(2)), kShortValuesOf}, Said("gap_delta"), "its indices are U8");
  fails({kFirstIndices, kFirstValues}, Said("", "true"), "'sparse' is 'true'");
  fails({kFirstIndices, kFirstValues}, {{"format", "pt"}}, "its metadata do not say so");
}

TEST_CASE("a TRL patch that only a graphics card can unpack is refused by the name of its packing") {
  const Patch patch;
  const std::vector<MadeTensor> tensors = {List("w.idx", Dtype::kU8, Bytes(2)), kShortValuesOf};
  CHECK_FAILS(patch.Open(tensors, Said("nvcomp_cascaded")), ErrorKind::kRefused, "'nvcomp_cascaded'");
  CHECK_FAILS(patch.Open(tensors, Said("better")), ErrorKind::kRefused, "packed as 'better'");
  CHECK_FAILS(patch.Open(tensors, {{"format", "sparse_weight_patch"}, {"version", "2"}}), ErrorKind::kRefused,
              "its version is '2'");
  REQUIRE_OK(patch.Open({}, Said("nvcomp_cascaded", "False")));
}

TEST_CASE("a checkpoint, a plain delta and other files do not look like TRL patches, a damaged patch does") {
  const Patch patch;
  const std::string good = SafetensorsText({"patch", {kFirstIndices, kFirstValues}, Said(), 0});
  const auto looks = [&](std::string_view text) {
    patch.folder.Write("file", text);
    return LooksLikeTrl(patch.folder / "file");
  };
  CHECK(looks(good));
  CHECK(looks(good.substr(0, good.size() - 1)));
  CHECK_FALSE(looks(""));
  CHECK_FALSE(looks(std::string(8, 0)));
  CHECK_FALSE(looks("sparse_weight_patch"));
  CHECK_FALSE(looks(SafetensorsText({"x", {Ramp("sparse_weight_patch", 4)}, {{"format", "pt"}}, 0})));
  CHECK_FALSE(LooksLikeTrl(patch.folder.path()));
  CHECK_FALSE(LooksLikeTrl(patch.folder / "nothing"));
  WriteCheckpoint(patch.folder, "a", {.shards = {{"model.safetensors", {Ramp("w", 8)}, {}, 0}}});
  WriteCheckpoint(patch.folder, "b", {.shards = {{"model.safetensors", {Ramp("w", 8, 1)}, {}, 0}}});
  const std::string plain = patch.folder / "plain.safetensors";
  REQUIRE_OK(Diff({.base = patch.folder / "a", .next = patch.folder / "b", .output = plain}, {.threads = 1}));
  CHECK_FALSE(LooksLikeTrl(plain));
  CHECK_FAILS(OpenTrl(plain, {}), ErrorKind::kIntegrity, "its metadata do not say so");
}

TEST_CASE("a TRL patch that is cut short anywhere is refused") {
  const Patch patch;
  const std::string good = SafetensorsText({"patch", {kFirstIndices, kFirstValues}, Said(), 0});
  for (size_t length = 0; length < good.size(); ++length) {
    patch.folder.Write("cut", std::string_view(good).substr(0, length));
    CHECK_FALSE(OpenTrl(patch.folder / "cut", {}).ok());
  }
}

}  // namespace
}  // namespace wdelta
