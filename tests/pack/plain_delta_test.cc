// The plain container: any safetensors reader opens it, and nothing wrong in it gets through.
#include "pack/container.h"
#include "pack/plain_format.h"
#include "support/expect.h"
#include "support/random_checkpoint.h"
#include "wdelta.h"

namespace wdelta {
namespace {

struct PlainPair {
  PlainPair() {
    a.shards = {{"model.safetensors",
                 {Ramp("w", 300), {"half", Dtype::kF4, {8}, {1, 2, 3, 4}}, {"d", Dtype::kF64, {2}, Bytes(16, 1)}},
                 {},
                 0}};
    b = a;
    b.shards[0].tensors[0].data[100] ^= 1;
    b.shards[0].tensors[0].data[598] ^= 1;
    b.shards[0].tensors[1].data[3] = 9;
    b.shards[0].tensors[2].data[15] ^= 0x80;
    b.shards[0].tensors.push_back(Ramp("new", 5));
    b.companions["config.json"] = "{}";
  }
  void Write() {
    WriteCheckpoint(folder, "a", a);
    WriteCheckpoint(folder, "b", b);
  }
  Result<DiffReport> Diff() {
    return wdelta::Diff({.base = folder / "a", .next = folder / "b", .output = folder / "d.safetensors"},
                        {.threads = 1});
  }
  Result<ApplyReport> Apply(std::string_view text) const {
    folder.Write("bad.safetensors", text);
    return wdelta::Apply(
        {.base = folder / "a", .deltas = {folder / "bad.safetensors"}, .output = folder / "out", .durable = false},
        {.threads = 1});
  }
  ScratchFolder folder;
  MadeCheckpoint a, b;
};

Bytes Content(const Checkpoint& checkpoint, std::string_view name) {
  const Tensor* tensor = checkpoint.Find(name);
  REQUIRE(tensor != nullptr);
  Bytes content(tensor->bytes);
  REQUIRE_OK(checkpoint.Read(*tensor, 0, content));
  return content;
}

TEST_CASE("a plain delta is a safetensors file with the indices and the values of what changed") {
  PlainPair pair;
  pair.Write();
  REQUIRE_OK(pair.Diff());
  const auto plain = Checkpoint::Open(pair.folder / "d.safetensors", {}, [](const std::string&) {});
  REQUIRE_OK(plain);
  CHECK(plain->Find("w.indices")->dtype == Dtype::kI32);
  CHECK(plain->Find("w.values")->dtype == Dtype::kBF16);
  const Bytes indices = Content(*plain, "w.indices"), values = Content(*plain, "w.values");
  REQUIRE(indices.size() == 8);
  CHECK(Load<int32_t>(indices.data()) == 50);
  CHECK(Load<int32_t>(indices.data() + 4) == 299);
  const Bytes& after = pair.b.shards[0].tensors[0].data;
  CHECK(values == Bytes{after[100], after[101], after[598], after[599]});
  CHECK(plain->Find("half.values")->dtype == Dtype::kU8);  // two elements to a byte
  CHECK(Content(*plain, "half.values") == Bytes{9});
  CHECK(plain->Find("d.values")->dtype == Dtype::kF64);
  CHECK(Content(*plain, "wdelta.new/new") == Ramp("new", 5).data);
  CHECK(Content(*plain, "wdelta.file/config.json") == Bytes{'{', '}'});
  CHECK(plain->Find("wdelta.file/model.safetensors") != nullptr);  // its header is another
  const SafetensorsHeader& header = plain->header(0);
  CHECK(header.Metadata("format") == "sparse_weight_patch");
  CHECK(header.Metadata("num_changed_params") == "3");
  CHECK(header.Metadata("changed_params") == R"(["d", "half", "w"])");
  CHECK(header.Metadata("wdelta.byte_tensors") == R"(["half"])");
  CHECK(header.Metadata("wdelta.version") == "1");
}

TEST_CASE("wide values stand first, so that each tensor of a plain delta is aligned to its elements") {
  PlainPair pair;
  pair.Write();
  REQUIRE_OK(pair.Diff());
  const auto plain = Checkpoint::Open(pair.folder / "d.safetensors", {}, [](const std::string&) {});
  REQUIRE_OK(plain);
  for (const Tensor& tensor : plain->tensors()) CHECK(tensor.offset % UnitBytes(tensor.dtype) == 0);
}

TEST_CASE("a plain delta that lies about its base or its content is refused") {
  PlainPair pair;
  pair.Write();
  REQUIRE_OK(pair.Diff());
  const std::string good = pair.folder.Read("d.safetensors");
  const Tree b = pair.folder.TreeOf("b");
  std::string bad = good;
  int refused = 0;
  for (size_t at = 0; at < good.size(); ++at) {
    bad[at] = static_cast<char>(bad[at] ^ (1 << at % 8));
    const auto applied = pair.Apply(bad);
    refused += !applied.ok();
    if (applied.ok()) {  // metadata for other readers may say anything
      const bool right = pair.folder.TreeOf("out") == b;
      CAPTURE(at);
      CHECK(right);
      pair.folder.Remove("out");
    }
    bad[at] = good[at];
  }
  CHECK(refused > 200);
  for (size_t length = 0; length < good.size(); length += 7) CHECK_FALSE(pair.Apply(good.substr(0, length)).ok());
  CHECK_FALSE(pair.folder.Exists("out"));
}

TEST_CASE("a tensor whose name a plain delta reserves is refused with the way out, and nothing is left behind") {
  PlainPair pair;
  pair.a.shards[0].tensors.push_back(Ramp("wdelta.index", 4));
  pair.b.shards[0].tensors.push_back(Ramp("wdelta.index", 4, 0x1111));
  pair.Write();
  const auto diff = pair.Diff();
  CHECK_FAILS(diff, ErrorKind::kRefused, "'wdelta.index' has a name that plain deltas reserve");
  CHECK(diff.error().hint.find("wdelta pack") != std::string::npos);
  CHECK_FALSE(pair.folder.Exists("d.safetensors"));
  REQUIRE_OK(Pack({.inputs = {pair.folder / "a", pair.folder / "b"}, .output = pair.folder / "d.wdp"}, {}));
}

TEST_CASE("names that look like parts of a plain delta do not confuse it") {
  PlainPair pair;
  for (const char* name : {"w.indices", "w.values", "w.indices.indices", "new/w"}) {
    pair.a.shards[0].tensors.push_back(Ramp(name, 6));
    pair.b.shards[0].tensors.push_back(Ramp(name, 6, 0x1234));
  }
  pair.Write();
  REQUIRE_OK(pair.Diff());
  REQUIRE_OK(pair.Apply(pair.folder.Read("d.safetensors")));
  CHECK(pair.folder.TreeOf("out") == pair.folder.TreeOf("b"));
}

TEST_CASE("indices are 32 bits wide while they fit") {
  CHECK(IndexDtype((uint64_t{1} << 31) - 1) == Dtype::kI32);
  CHECK(IndexDtype(uint64_t{1} << 31) == Dtype::kI64);
}

}  // namespace
}  // namespace wdelta
