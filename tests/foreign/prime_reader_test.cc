// prime-rl's updates: manifest and patch file are read to the last bit, and nothing wrong in them gets through.
#include "support/expect.h"
#include "support/foreign_patch.h"
#include "support/random_checkpoint.h"

namespace wdelta {
namespace {

const Bytes kOld = {0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f};
const Bytes kNew = {0x80, 0x3f, 0x81, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0xbf, 0x80, 0x3f};
const std::vector<uint64_t> kShape = {2, 4};

MadeTensor List(const std::string& name, Dtype dtype, Bytes data) {
  const uint64_t length = data.size() / UnitBytes(dtype);
  return {name, dtype, {length}, std::move(data)};
}

const MadeTensor kIndices = List("tensor_0.indices", Dtype::kI32, {1, 0, 0, 0, 6, 0, 0, 0});
const MadeTensor kValues = List("tensor_0.values", Dtype::kBF16, {0x81, 0x3f, 0x80, 0xbf});
const std::vector<MadeTensor> kPatch = {kIndices, kValues};

// An entry of the manifest; the words may be replaced one by one.
struct Entry {
  std::string name = "w", shape = "[2, 4]", dtype = "bfloat16", indices = "tensor_0.indices",
              values = "tensor_0.values", elements = "8", changed = "2";

  std::string Text() const {
    return R"({"changed_numel": )" + changed + R"(, "checksum": -4611686018427387905, "dtype": ")" + dtype +
           R"(", "indices": ")" + indices + R"(", "name": ")" + name + R"(", "numel": )" + elements + R"(, "shape": )" +
           shape + R"(, "values": ")" + values + R"("})";
  }
};

struct Manifest {
  std::vector<Entry> entries = {{}};
  std::string format = "prime-rl-sparse-update", version = "1", compressed = "false",
              patch_file = R"("sparse_update_patch.safetensors")", base_step = "7";

  std::string Text() const {
    std::string tensors;
    for (const Entry& entry : entries) tensors += (tensors.empty() ? "" : ", ") + entry.Text();
    return R"({"base_step": )" + base_step + R"(, "compressed": )" + compressed +
           R"(, "compute_dtype": null, "format": ")" + format + R"(", "patch_file": )" + patch_file +
           R"(, "stats": {"sparsity": 0.75}, "step": 8, "tensors": [)" + tensors + R"(], "version": )" + version +
           "}\n";
  }
};

std::string PatchText(const std::vector<MadeTensor>& tensors) {
  return SafetensorsText({"patch", tensors, {{"format", "pt"}}, 0});
}

std::string Frame(std::string_view content) {
  Bytes frame;
  ZstdCompress(AsBytes(content), 3, frame);
  return std::string(AsText(frame));
}

struct PrimeFolder {
  Result<std::unique_ptr<ForeignDelta>> OpenTexts(std::string_view manifest, std::string_view patch) const {
    folder.Write("step_8/sparse_update_manifest.json", manifest);
    folder.Write("step_8/sparse_update_patch.safetensors", patch);
    return OpenPrime(folder / "step_8", {});
  }
  Result<std::unique_ptr<ForeignDelta>> Open(const Manifest& manifest,
                                             const std::vector<MadeTensor>& patch = kPatch) const {
    return OpenTexts(manifest.Text(), PatchText(patch));
  }
  // What an update makes of the example.
  Result<Bytes> Apply(const Manifest& manifest, const std::vector<MadeTensor>& patch, size_t block = 16) const {
    WD_ASSIGN(const std::unique_ptr<ForeignDelta> update, Open(manifest, patch));
    return PatchTensor(*update, 0, Dtype::kBF16, kShape, kOld, block);
  }
  ScratchFolder folder;
};

TEST_CASE("a prime-rl update turns the old tensor into the new one, in blocks of any size") {
  const PrimeFolder prime;
  const MadeTensor wide = List("tensor_0.indices", Dtype::kI64, {1, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0});
  for (const size_t block : {2, 4, 6, 10, 14, 16}) {
    for (const std::vector<MadeTensor>& patch : {kPatch, {kValues, kIndices}, {wide, kValues}}) {
      const auto turned = prime.Apply({}, patch, block);
      REQUIRE_OK(turned);
      CHECK(*turned == kNew);
    }
  }
}

TEST_CASE("a prime-rl update says its steps, its size and its tensors with their forms") {
  const PrimeFolder prime;
  Manifest manifest;
  manifest.entries = {
      {.name = "z"},
      {.name = "a", .shape = "[]", .dtype = "F32", .indices = "i", .values = "v", .elements = "1", .changed = "1"}};
  std::vector<MadeTensor> patch = kPatch;
  patch.push_back(List("i", Dtype::kI32, Bytes(4)));
  patch.push_back(List("v", Dtype::kF32, {1, 2, 3, 4}));
  const auto update = prime.Open(manifest, patch);
  REQUIRE_OK(update);
  CHECK((*update)->kind() == "prime-rl update");
  CHECK((*update)->version() == "8");
  CHECK((*update)->base_version() == "7");
  CHECK((*update)->bytes() == manifest.Text().size() + PatchText(patch).size());
  REQUIRE((*update)->tensors().size() == 2);
  CHECK((*update)->tensors()[0].name == "a");
  CHECK((*update)->tensors()[0].dtype == Dtype::kF32);
  CHECK((*update)->tensors()[1].name == "z");
  CHECK((*update)->tensors()[1].shape == kShape);
  CHECK((*update)->tensors()[1].checksum_kind == ForeignChecksum::kNone);
  CHECK(*PatchTensor(**update, 0, Dtype::kF32, {}, Bytes(4), 4) == Bytes{1, 2, 3, 4});
  CHECK(*PatchTensor(**update, 1, Dtype::kBF16, kShape, kOld, 16) == kNew);
  CHECK(LooksLikePrime(prime.folder / "step_8"));
  CHECK_FALSE(LooksLikePrime(prime.folder.path()));
  CHECK_FALSE(LooksLikePrime(prime.folder / "step_8/sparse_update_manifest.json"));

  manifest.base_step = "null";
  CHECK((*prime.Open(manifest, patch))->base_version().empty());
  manifest.base_step = "-1";
  CHECK((*prime.Open(manifest, patch))->base_version() == "-1");
  manifest.base_step = "1e3";
  CHECK_FAILS(prime.Open(manifest, patch), ErrorKind::kIntegrity, "expected a whole number");
}

TEST_CASE("a prime-rl update in which nothing changed has no patch file") {
  const PrimeFolder prime;
  prime.folder.Write("empty/sparse_update_manifest.json", Manifest{.entries = {}, .patch_file = "null"}.Text());
  const auto update = OpenPrime(prime.folder / "empty", {});
  REQUIRE_OK(update);
  CHECK((*update)->tensors().empty());
  prime.folder.Write("empty/sparse_update_manifest.json", Manifest{.patch_file = "null"}.Text());
  CHECK_FAILS(OpenPrime(prime.folder / "empty", {}), ErrorKind::kIntegrity, "it lists tensors, but no patch file");
  prime.folder.Write("empty/sparse_update_manifest.json", Manifest{}.Text());
  CHECK_FAILS(OpenPrime(prime.folder / "empty", {}), ErrorKind::kNotFound, "sparse_update_patch.safetensors");
}

TEST_CASE("a patch file in one zstd frame is read like an open one, and only to the length that the manifest means") {
  const PrimeFolder prime;
  const std::string open = PatchText(kPatch);
  for (const char* compressed : {"true", "false"}) {  // readers look at the file
    const auto update = prime.OpenTexts(Manifest{.compressed = compressed}.Text(), Frame(open));
    REQUIRE_OK(update);
    CHECK(*PatchTensor(**update, 0, Dtype::kBF16, kShape, kOld, 6) == kNew);
  }
  const std::string manifest = Manifest{.compressed = "true"}.Text();
  const auto fails = [&](std::string_view patch, const std::string& words) {
    CHECK_FAILS(prime.OpenTexts(manifest, patch), ErrorKind::kIntegrity, words);
  };
  fails(open, "patch file: zstd:");
  fails("", "patch file: zstd:");
  fails(Frame(open + "x"), "the frame is longer than it should be");
  fails(Frame(open) + "x", "something follows the frame");
  fails(Frame(open.substr(0, open.size() - 1)), "the frame ends too early");
  fails(Frame(open.substr(0, 20)), "the frame ends too early");
  fails(Frame("\xff\xff\xff\xff\xff\xff\xff\xff"), "its header is too long");
  fails(Frame(std::string("\x02\0\0\0\0\0\0\0[]", 10)), "patch file: byte 0");
  fails(Frame(std::string("\x01\0\0\0\0\0\0\0\xff", 9)), "its header is not UTF-8");
  fails(Frame(PatchText({kIndices, kValues, List("more", Dtype::kU8, Bytes(1000))})),
        "it is longer than the tensors of the manifest");
  const std::string frame = Frame(open);
  for (size_t length = 0; length < frame.size(); ++length)
    CHECK_FALSE(prime.OpenTexts(manifest, std::string_view(frame).substr(0, length)).ok());
}

TEST_CASE("types of a prime-rl update may have the names of PyTorch or of safetensors") {
  const PrimeFolder prime;
  const std::pair<const char*, Dtype> names[] = {
      {"bfloat16", Dtype::kBF16},      {"torch.bfloat16", Dtype::kBF16},
      {"BF16", Dtype::kBF16},          {"float32", Dtype::kF32},
      {"F8_E4M3", Dtype::kF8E4M3},     {"torch.float8_e4m3fn", Dtype::kF8E4M3},
      {"float8_e5m2", Dtype::kF8E5M2}, {"uint8", Dtype::kU8},
      {"bool", Dtype::kBool},          {"torch.int64", Dtype::kI64},
      {"float64", Dtype::kF64},        {"float16", Dtype::kF16}};
  for (const auto& [name, dtype] : names) {
    CAPTURE(name);
    const Bytes values(2 * UnitBytes(dtype), 5);
    const auto update = prime.Open({.entries = {{.dtype = name}}}, {kIndices, List("tensor_0.values", dtype, values)});
    REQUIRE_OK(update);
    CHECK((*update)->tensors()[0].dtype == dtype);
    const auto turned = PatchTensor(**update, 0, dtype, kShape, Bytes(8 * UnitBytes(dtype)), 3 * UnitBytes(dtype));
    REQUIRE_OK(turned);
    CHECK(std::count(turned->begin(), turned->end(), 5) == 2 * UnitBytes(dtype));
    CHECK((*turned)[6 * UnitBytes(dtype)] == 5);
  }
  for (const char* name : {"float4_e2m1fn_x2", "F4", "torch.", "", "bf16"})
    CHECK_FAILS(prime.Open({.entries = {{.dtype = name}}}), ErrorKind::kRefused, "tensor 'w' is of type '");
}

TEST_CASE("a prime-rl update is not taken for a tensor of another type or shape") {
  const PrimeFolder prime;
  const auto update = prime.Open({});
  REQUIRE_OK(update);
  CHECK_FAILS((*update)->Open(0, Dtype::kF32, kShape), ErrorKind::kConflict,
              "tensor 'w' is BF16[2,4], but the base has it as F32[2,4]");
  CHECK_FAILS((*update)->Open(0, Dtype::kBF16, std::vector<uint64_t>{8}), ErrorKind::kConflict, "BF16[8]");
}

TEST_CASE("indices of a prime-rl update that are negative, do not rise or lie outside are refused by name") {
  const PrimeFolder prime;
  const auto fails = [&](Dtype dtype, const Bytes& indices, const std::string& words) {
    for (const size_t block : {2, 6, 16}) {
      const auto turned = prime.Apply({}, {List("tensor_0.indices", dtype, indices), kValues}, block);
      CHECK_FAILS(turned, ErrorKind::kIntegrity, "is a malformed prime-rl update: tensor 'w': " + words);
      CHECK(turned.error().tensor == "w");
    }
  };
  fails(Dtype::kI32, {1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, "an index is negative");
  fails(Dtype::kI64, {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80}, "an index is negative");
  fails(Dtype::kI64, {1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0}, "a position lies outside of the tensor");
  fails(Dtype::kI32, {1, 0, 0, 0, 8, 0, 0, 0}, "a position lies outside of the tensor");
  fails(Dtype::kI32, {6, 0, 0, 0, 1, 0, 0, 0}, "positions do not rise");
  fails(Dtype::kI32, {6, 0, 0, 0, 6, 0, 0, 0}, "positions do not rise");
}

TEST_CASE("a manifest that does not fit itself or its patch file is refused when it is opened") {
  const PrimeFolder prime;
  const auto fails = [&](const std::vector<Entry>& entries, const std::string& words) {
    CHECK_FAILS(prime.Open({.entries = entries}), ErrorKind::kIntegrity, words);
  };
  fails({{.elements = "9"}}, "tensor 'w': its shape does not have 'numel' elements");
  fails({{.shape = "[3,4]"}}, "tensor 'w': its shape does not have 'numel' elements");
  fails({{.shape = "[4294967296,4294967296]"}}, "tensor 'w': its shape is too large");
  fails({{.shape = "[-2, 4]"}}, "manifest: byte");
  fails({{.changed = "9"}}, "tensor 'w': it has more changes than elements");
  fails({{.changed = "1"}}, "tensor 'w': 'tensor_0.indices' does not have 'changed_numel' elements");
  fails({{.indices = "tensor_1.indices"}}, "tensor 'w': 'tensor_1.indices' is not in the patch file");
  fails({{.values = "x"}}, "tensor 'w': 'x' is not in the patch file");
  fails({{.values = "tensor_0.indices"}}, "tensor 'w': 'tensor_0.indices' is used twice");
  fails({{.indices = "tensor_0.values", .values = "tensor_0.indices"}}, "tensor 'w': its indices are BF16");
  fails({{.dtype = "float16"}}, "tensor 'w': its values are BF16, not F16");
  fails({{}, {}}, "tensor 'w': it is there twice");
  fails({{}, {.name = "x"}}, "tensor 'x': 'tensor_0.indices' is used twice");
  fails({}, "the manifest does not mention 'tensor_0.indices' of the patch file");
  const auto patch_fails = [&](const std::vector<MadeTensor>& patch, const std::string& words) {
    CHECK_FAILS(prime.Open({}, patch), ErrorKind::kIntegrity, words);
  };
  patch_fails({kIndices}, "'tensor_0.values' is not in the patch file");
  patch_fails({kIndices, List("tensor_0.values", Dtype::kBF16, {1, 2})}, "'changed_numel'");
  patch_fails({kIndices, {"tensor_0.values", Dtype::kBF16, {1, 2}, Bytes(4)}}, "'changed_numel'");
  patch_fails({List("tensor_0.indices", Dtype::kI16, Bytes(4)), kValues}, "its indices are I16");
  patch_fails({kIndices, kValues, List("x", Dtype::kU8, {})}, "the manifest does not mention 'x'");

  CHECK_FAILS(prime.Open({.format = "other"}), ErrorKind::kIntegrity, "the format in its manifest is 'other'");
  CHECK_FAILS(prime.Open({.version = "2"}), ErrorKind::kRefused, "its format version is '2'");
  for (const char* text :
       {"", "{", "[]", "{}x", R"({"tensors": [{}]})", R"({"tensors": [{"name": "w"}]})", "{\"a\": \xff}"})
    CHECK_FAILS(prime.OpenTexts(text, PatchText(kPatch)), ErrorKind::kIntegrity, "manifest");
  const std::string good = PatchText(kPatch);
  for (size_t length = 0; length < good.size(); ++length)
    CHECK_FALSE(prime.OpenTexts(Manifest{}.Text(), std::string_view(good).substr(0, length)).ok());
}

TEST_CASE("a patch file that would lie elsewhere is refused") {
  const PrimeFolder prime;
  prime.folder.Write("outside", PatchText(kPatch));
  for (const char* name :
       {"\"../outside\"", "\"/etc/passwd\"", "\"a/b\"", "\"..\"", "\".\"", "\"\"", R"("a\\b")", R"("a\u0000b")"}) {
    CAPTURE(name);
    CHECK_FAILS(prime.Open({.patch_file = name}), ErrorKind::kRefused, "its patch file is named '");
  }
}

}  // namespace
}  // namespace wdelta
