// The parts that a pack is written in, hashed on the way, are those that a reader would cut it into.
#include "core/byte_source.h"
#include "pack/container.h"
#include "support/expect.h"
#include "support/random_checkpoint.h"
#include "walk/write_delta.h"

namespace wdelta {

namespace {

// Writes the pack from `base` (may be null) to `next` in parts of at most `most` bytes.
std::vector<ContainerPart> WriteParts(const Checkpoint* base, const Checkpoint& next, const std::string& path,
                                      uint64_t most) {
  PackOptions options;
  options.max_part_bytes = most;
  const auto side = PairTarget(base, next);
  const auto written =
      WriteDelta(base, *side, {.threads = 2}, [&](const DeltaIndex& plan) { return CreatePack(path, plan, options); });
  REQUIRE_OK(written);
  REQUIRE_OK(written->writer->Finish(written->index));
  return written->writer->parts();
}

void CheckParts(const std::string& path, const std::vector<ContainerPart>& parts, uint64_t most) {
  const auto reader = OpenDelta(path, Trust::kWhole, {});
  REQUIRE_OK(reader);
  const auto cuts = (*reader)->CutPoints(most);
  REQUIRE_OK(cuts);
  REQUIRE(parts.size() == cuts->size());
  const auto file = File::OpenForRead(path);
  REQUIRE_OK(file);
  uint64_t at = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    CHECK(at == (*cuts)[i]);
    CHECK(parts[i].sha256 == *DigestSource(FileSlice(*file, at, parts[i].bytes), {}));
    at += parts[i].bytes;
  }
  CHECK(at == (*reader)->bytes());
  CHECK((*reader)->sha256() == *DigestSource(FileSlice(*file, 0, at), {}));
}

}  // namespace

TEST_CASE("the parts of any pack, whatever their limit, are those of its cut points") {
  Dice dice(20);
  size_t most_parts = 0;
  for (int round = 0; round < 60; ++round) {
    const ScratchFolder folder;
    const MadeCheckpoint before = RandomCheckpoint(dice), after = RandomSuccessor(dice, before);
    WriteCheckpoint(folder, "a", before);
    WriteCheckpoint(folder, "b", after);
    const auto base = Checkpoint::Open(folder / "a", {}, [](const std::string&) {});
    const auto next = Checkpoint::Open(folder / "b", {}, [](const std::string&) {});
    REQUIRE_OK(base);
    REQUIRE_OK(next);
    const bool anchor = dice.OneIn(3);
    const uint64_t most = dice.OneIn(5) ? kMaxPartBytes : 1 + dice.Below(dice.OneIn(2) ? 300 : 20'000);
    INFO("round ", round, ", at most ", most);
    const auto parts = WriteParts(anchor ? nullptr : &*base, *next, folder / "x.wdp", most);
    CheckParts(folder / "x.wdp", parts, most);
    most_parts = std::max(most_parts, parts.size());
  }
  CHECK(most_parts >= 10);
}

}  // namespace wdelta
