// The native container: what it refuses, and that nothing that was damaged is ever taken for whole.
#include "pack/container.h"
#include "pack/pack_format.h"
#include "support/expect.h"
#include "support/random_checkpoint.h"
#include "wdelta.h"

namespace wdelta {
namespace {

// Two small checkpoints and the pack between them: a changed tensor, an added one, a removed one, another config.
struct SmallPack {
  SmallPack() {
    MadeCheckpoint a, b;
    a.shards = {{"model.safetensors", {Ramp("w", 300), Ramp("gone", 3)}, {}, 0}};
    a.companions["config.json"] = "{\"step\": 1}";
    b = a;
    b.shards[0].tensors[0].data[100] ^= 1;
    b.shards[0].tensors[0].data[401] ^= 0x80;
    b.shards[0].tensors[1] = Ramp("new", 5);
    b.companions["config.json"] = "{\"step\": 2}";
    WriteCheckpoint(folder, "a", a);
    WriteCheckpoint(folder, "b", b);
    REQUIRE_OK(Pack({.inputs = {folder / "a", folder / "b"}, .output = folder / "ab.wdp"}, {.threads = 1}));
    pack = folder.Read("ab.wdp");
    b_tree = folder.TreeOf("b");
  }

  Result<VerifyReport> VerifyText(std::string_view text) const {
    folder.Write("bad.wdp", text);
    return Verify({.target = folder / "bad.wdp"}, {.threads = 1});
  }
  Result<ApplyReport> ApplyText(std::string_view text) const {
    folder.Write("bad.wdp", text);
    return Apply({.base = folder / "a", .deltas = {folder / "bad.wdp"}, .output = folder / "out", .durable = false},
                 {.threads = 1});
  }

  ScratchFolder folder;
  std::string pack;
  Tree b_tree;
};

TEST_CASE("a pack that is cut off anywhere is refused by verify and by apply") {
  const SmallPack small;
  REQUIRE_OK(small.VerifyText(small.pack));
  CHECK(small.pack.size() < 2500);
  for (size_t length = 0; length < small.pack.size(); ++length) {
    CAPTURE(length);
    const auto verified = small.VerifyText(small.pack.substr(0, length));
    REQUIRE_FALSE(verified.ok());
    CHECK(verified.error().kind == ErrorKind::kIntegrity);
    CHECK_FALSE(small.ApplyText(small.pack.substr(0, length)).ok());
    CHECK_FALSE(small.folder.Exists("out"));
  }
}

TEST_CASE("a pack with any one bit flipped is refused by verify and by apply") {
  const SmallPack small;
  std::string bad = small.pack;
  for (size_t at = 0; at < bad.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      const auto verified = small.VerifyText(bad);
      const bool detected = !verified.ok() && (verified.error().kind == ErrorKind::kIntegrity ||
                                               verified.error().kind == ErrorKind::kRefused);
      if (!detected) CAPTURE(at);
      CHECK(detected);
      if (small.ApplyText(bad).ok()) FAIL("applied with bit ", bit, " of byte ", at, " flipped");
      bad[at] = small.pack[at];
    }
  }
  CHECK_FALSE(small.folder.Exists("out"));
  CHECK(small.folder.TreeOf().size() == small.folder.TreeOf("a").size() + small.b_tree.size() + 4);
}

// The pack again with a right digest in its end record, so that what was changed must be found by other means.
std::string Sealed(std::string pack) {
  const size_t before_end = pack.size() - kEndSectionBytes;
  const Sha256Digest sha256 = DigestSha256(AsBytes(pack).first(before_end));
  std::copy(sha256.begin(), sha256.end(), pack.begin() + static_cast<ptrdiff_t>(before_end + 18));
  return pack;
}

TEST_CASE("a pack with any one bit flipped and a digest to match is refused, or still gives the right result") {
  const SmallPack small;
  REQUIRE_OK(small.VerifyText(Sealed(small.pack)));
  std::string bad = small.pack;
  for (size_t at = 0; at + kEndSectionBytes < bad.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      const auto applied = small.ApplyText(Sealed(bad));
      if (applied.ok()) {
        // The optional flags, for one, may say anything.
        const bool right = small.folder.TreeOf("out") == small.b_tree;
        INFO("bit ", bit, " of byte ", at);
        CHECK(right);
        small.folder.Remove("out");
      }
      bad[at] = small.pack[at];
    }
  }
}

TEST_CASE("bytes behind the end of a pack are refused") {
  const SmallPack small;
  CHECK_FAILS(small.VerifyText(small.pack + "x"), ErrorKind::kIntegrity, "no end record");
  CHECK_FAILS(small.VerifyText(small.pack + small.pack), ErrorKind::kIntegrity, "bytes, its end record says");
}

TEST_CASE("another version, an unknown required flag and an unknown optional flag are told apart") {
  const SmallPack small;
  std::string other = small.pack;
  other[8] = 2;
  CHECK_FAILS(small.VerifyText(Sealed(other)), ErrorKind::kRefused, "version 2");
  other = small.pack;
  other[12] = 2;
  CHECK_FAILS(small.VerifyText(Sealed(other)), ErrorKind::kRefused, "required flags 2");
  other = small.pack;
  other[16] = 1;
  REQUIRE_OK(small.VerifyText(Sealed(other)));
  CHECK_FAILS(small.VerifyText(other), ErrorKind::kIntegrity, "SHA-256");
}

TEST_CASE("a pack says who it was made for and what it leads to") {
  const SmallPack small;
  const auto listed = Cat({.subject = small.folder / "ab.wdp"}, {});
  REQUIRE_OK(listed);
  CHECK(listed->kind == "pack");
  CHECK(listed->bytes == small.pack.size());
  CHECK(listed->base.state == Verify({.target = small.folder / "a"}, {})->identity.state);
  CHECK(listed->result.state == Verify({.target = small.folder / "b"}, {})->identity.state);
  REQUIRE(listed->tensors.size() == 3);
  CHECK(listed->tensors[0].name == "new");
  CHECK(listed->tensors[0].kind == ChangeKind::kAdded);
  CHECK(listed->tensors[1].name == "w");
  CHECK(listed->tensors[1].elements_changed == 2);
  CHECK(listed->tensors[2].kind == ChangeKind::kRemoved);
  CHECK(listed->files.size() == 2);  // the header and config.json
}

TEST_CASE("the SHA-256 that a report names is the one of the file") {
  const ScratchFolder folder;
  MadeCheckpoint made;
  made.shards = {{"model.safetensors", {Ramp("w", 10)}, {}, 0}};
  WriteCheckpoint(folder, "a", made);
  const auto report = Pack({.inputs = {folder / "a"}, .anchor = true, .output = folder / "a.wdp"}, {});
  REQUIRE_OK(report);
  const std::string text = folder.Read("a.wdp");
  CHECK(report->sha256 == Hex(DigestSha256(AsBytes(text))));
  CHECK(report->delta_bytes == text.size());
}

TEST_CASE("a pack of nothing is small") {
  const ScratchFolder folder;
  MadeCheckpoint made;
  made.shards.emplace_back();
  for (int i = 0; i < 1000; ++i)
    made.shards[0].tensors.push_back(Ramp("model.layers." + std::to_string(i) + ".weight", 20));
  WriteCheckpoint(folder, "a", made);
  const auto report = Pack({.inputs = {folder / "a", folder / "a"}, .output = folder / "aa.wdp"}, {});
  REQUIRE_OK(report);
  CHECK(report->delta_bytes < (64 << 10) + 1000 * 48);
  CHECK(report->totals.elements_changed == 0);
}

TEST_CASE("something that is neither a pack nor a safetensors file is no delta") {
  const ScratchFolder folder;
  folder.Write("x", "hello");
  folder.Write("empty", "");
  folder.Write("model.safetensors", SafetensorsText({"", {Ramp("w", 10)}, {}, 0}));
  CHECK_FAILS(OpenDelta(folder / "x", Trust::kIndex, {}), ErrorKind::kIntegrity, "");
  CHECK_FAILS(OpenDelta(folder / "empty", Trust::kIndex, {}), ErrorKind::kIntegrity, "is empty");
  CHECK_FAILS(OpenDelta(folder / "nothing", Trust::kIndex, {}), ErrorKind::kNotFound, "nothing");
  CHECK_FAILS(OpenDelta(folder / "model.safetensors", Trust::kIndex, {}), ErrorKind::kRefused, "no delta");
  CHECK_FALSE(*LooksLikeDelta(folder / "model.safetensors"));
  CHECK_FALSE(*LooksLikeDelta(folder / "x"));
}

}  // namespace
}  // namespace wdelta
