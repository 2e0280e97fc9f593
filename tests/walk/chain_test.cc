// A chain of packs as the checkpoint that it leads to.
#include "walk/chain.h"

#include "support/expect.h"
#include "support/random_checkpoint.h"
#include "walk/rebuild.h"
#include "wdelta.h"

namespace wdelta {
namespace {

// Checkpoints 0 to 3, and a pack from each to the next.
struct Steps {
  Steps() {
    for (uint16_t step = 0; step < 4; ++step) {
      MadeCheckpoint made{.shards = {{"m.safetensors", {Ramp("v", 40), Ramp("w", 700'000)}, {}, 0}}};
      Store(made.shards[0].tensors[0].data.data(), step);
      Store(made.shards[0].tensors[1].data.data() + 1'200'000, step);  // in the second block
      made.companions = {{"config.json", std::to_string(step)}};
      WriteCheckpoint(folder, std::to_string(step), made);
      if (step == 0) continue;
      REQUIRE_OK(Pack({.inputs = {Path(step - 1), Path(step)}, .output = PackTo(step)}, {}));
    }
    REQUIRE_OK(Pack({.inputs = {Path(2)}, .anchor = true, .output = folder / "anchor.wdp"}, {}));
  }
  std::string Path(int step) const { return folder / std::to_string(step); }
  std::string PackTo(int step) const { return folder / ("to-" + std::to_string(step) + ".wdp"); }
  Result<OpenedTarget> Open(const std::string& base, const std::vector<std::string>& packs) const {
    return OpenPacks(base, packs, {}, Trust::kWhole, {});
  }
  Sha256Digest StateOf(int step) const {
    const auto checkpoint = Checkpoint::Open(Path(step), {}, [](const std::string&) {});
    REQUIRE_OK(checkpoint);
    return ProveCheckpoint(*checkpoint, {})->state();
  }
  // The state that the chain leads to, from its blocks and files.
  Sha256Digest StateOf(const Result<OpenedTarget>& opened) const {
    REQUIRE_OK(opened);
    const auto state = VerifyTarget(*opened, {});
    REQUIRE_OK(state);
    return state->state;
  }
  const ScratchFolder folder;
};

TEST_CASE("a chain leads to the last checkpoint, also from a base that has a part of it already") {
  const Steps steps;
  const std::vector<std::string> packs = {steps.PackTo(1), steps.PackTo(2), steps.PackTo(3)};
  for (int base = 0; base < 4; ++base) CHECK(steps.StateOf(steps.Open(steps.Path(base), packs)) == steps.StateOf(3));
}

TEST_CASE("a chain knows the base that it was made for, and what changes between its ends") {
  const Steps steps;
  const auto opened = steps.Open(steps.Path(0), {steps.PackTo(1), steps.PackTo(2)});
  REQUIRE_OK(opened);
  REQUIRE(opened->target->base());
  CHECK(opened->target->base()->state == steps.StateOf(0));
  CHECK(opened->target->checkpoint() == nullptr);
  CHECK(opened->delta_bytes == *SizeOfFile(steps.PackTo(1)) + *SizeOfFile(steps.PackTo(2)));
}

TEST_CASE("without packs the target is the base itself") {
  const Steps steps;
  const auto opened = steps.Open(steps.Path(1), {});
  REQUIRE_OK(opened);
  CHECK(opened->target->checkpoint() == opened->base.get());
  CHECK(steps.StateOf(opened) == steps.StateOf(1));
}

TEST_CASE("an anchor needs no base, and begins a chain anew") {
  const Steps steps;
  const std::string anchor = steps.folder / "anchor.wdp";
  CHECK(steps.StateOf(steps.Open("", {anchor})) == steps.StateOf(2));
  CHECK(steps.StateOf(steps.Open("", {anchor, steps.PackTo(3)})) == steps.StateOf(3));
  CHECK(steps.StateOf(steps.Open(steps.Path(0), {steps.PackTo(1), anchor, steps.PackTo(3)})) == steps.StateOf(3));
}

TEST_CASE("a chain with a gap, or in another order, lacks a delta") {
  const Steps steps;
  CHECK_FAILS(steps.Open(steps.Path(0), {steps.PackTo(1), steps.PackTo(3)}), ErrorKind::kNotFound,
              "a delta is missing");
  CHECK_FAILS(steps.Open(steps.Path(0), {steps.PackTo(2), steps.PackTo(1)}), ErrorKind::kNotFound,
              "a delta is missing");
  CHECK_FALSE(steps.Open("", {steps.PackTo(1)}).ok());
}

TEST_CASE("a block that is neither old nor new is a conflict of the walk") {
  const Steps steps;
  std::string content = steps.folder.Read("0/m.safetensors");
  content.back() = static_cast<char>(content.back() ^ 1);
  steps.folder.Write("0/m.safetensors", content);
  const auto opened = steps.Open(steps.Path(0), {steps.PackTo(1)});
  REQUIRE_OK(opened);
  CHECK_FAILS(VerifyTarget(*opened, {}), ErrorKind::kConflict, "");
}

}  // namespace
}  // namespace wdelta
