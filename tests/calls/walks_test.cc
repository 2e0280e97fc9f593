// How often each call of the library reads the checkpoints that it is given.
#include "core/file_counts.h"
#include "support/expect.h"
#include "support/random_checkpoint.h"
#include "wdelta.h"

namespace wdelta {
namespace {

constexpr uint64_t kElements = 1 << 20, kModel = kElements * sizeof(uint16_t);

struct Pair {
  Pair() {
    MadeCheckpoint made{.shards = {{"model.safetensors", {Ramp("w", kElements)}, {}, 0}}};
    WriteCheckpoint(folder, "base", made);
    for (uint64_t i = 0; i < kElements; i += 1000) Store(made.shards[0].tensors[0].data.data() + 2 * i, uint16_t{7});
    WriteCheckpoint(folder, "next", made);
    REQUIRE_OK(Pack({.inputs = {base(), next()}, .output = folder / "d.wdp"}, {}));
  }
  std::string base() const { return folder / "base"; }
  std::string next() const { return folder / "next"; }

  const ScratchFolder folder;
};

// In models: header and companions are the part that is cut off.
uint64_t ModelsRead(const FileCounts& counts, const std::string& folder) {
  return (counts.Of(folder).read + kModel / 10) / kModel;
}

TEST_CASE("diff, pack, stats and verify read each checkpoint once") {
  const Pair pair;
  const auto expect_once = [&](const auto& call) {
    FileCounts counts;
    REQUIRE_OK(call());
    CHECK(ModelsRead(counts, "/base/") == 1);
    CHECK(ModelsRead(counts, "/next/") == 1);
  };
  for (const unsigned threads : {1u, 4u}) {
    const Context context{.threads = threads};
    expect_once([&] { return Diff({.base = pair.base(), .next = pair.next()}, context); });
    expect_once([&] { return Stats({.subjects = {pair.base(), pair.next()}}, context); });
    expect_once([&] {
      return Pack({.inputs = {pair.base(), pair.next()}, .output = pair.folder / "again.wdp"}, context);
    });
    FileCounts counts;
    REQUIRE_OK(Verify({.target = pair.next()}, context));
    CHECK(ModelsRead(counts, "/next/") == 1);
  }
}

TEST_CASE("stats that compares encodings reads each checkpoint three times") {
  const Pair pair;
  FileCounts counts;
  REQUIRE_OK(Stats({.subjects = {pair.base(), pair.next()}, .encodings = true}, {}));
  CHECK(ModelsRead(counts, "/base/") == 3);
  CHECK(ModelsRead(counts, "/next/") == 3);
}

TEST_CASE("apply reads its base once and writes the result once") {
  const Pair pair;
  FileCounts counts;
  REQUIRE_OK(Apply({.base = pair.base(), .deltas = {pair.folder / "d.wdp"}, .output = pair.folder / "out"}, {}));
  CHECK(ModelsRead(counts, "/base/") == 1);
  CHECK(counts.Of("out").read < kModel / 10);
  CHECK((counts.Of("out").written + kModel / 10) / kModel == 1);
}

TEST_CASE("apply in place reads the checkpoint twice and writes it at most once") {
  const Pair pair;
  FileCounts counts;
  REQUIRE_OK(Apply({.base = pair.base(), .deltas = {pair.folder / "d.wdp"}, .in_place = true}, {}));
  CHECK(ModelsRead(counts, "/base/model.safetensors") == 2);
  CHECK(counts.Of("/base/").written < kModel + kModel / 10);
  CHECK(pair.folder.TreeOf("base") == pair.folder.TreeOf("next"));
}

}  // namespace
}  // namespace wdelta
