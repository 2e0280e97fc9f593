#include <doctest/doctest.h>

#include "delta/tensor_delta.h"
#include "support/expect.h"
#include "support/random_checkpoint.h"

namespace wdelta {
namespace {

// The positions of the units that differ, found one by one.
std::vector<uint32_t> Differing(ByteSpan a, ByteSpan b, unsigned unit) {
  std::vector<uint32_t> positions;
  for (uint32_t i = 0; i < a.size() / unit; ++i) {
    if (!std::equal(a.begin() + i * unit, a.begin() + (i + 1) * unit, b.begin() + i * unit)) positions.push_back(i);
  }
  return positions;
}

TEST_CASE("every unit that differs in any bit is found, and no other") {
  Dice dice(7);
  for (const unsigned unit : {1u, 2u, 4u, 8u}) {
    for (int round = 0; round < 300; ++round) {
      const size_t units = round < 4 ? (150 << 10) / unit + dice.Below(9) : dice.Below(200);
      const Bytes before = RandomBytes(dice, units * unit);
      Bytes after = before;
      for (uint64_t n = units ? dice.Below(dice.OneIn(2) ? 3 : units + 1) : 0; n > 0; --n) {
        after[dice.Below(after.size())] ^= static_cast<uint8_t>(1 << dice.Below(8));
      }
      const auto expected = Differing(before, after, unit);
      CHECK(CountChanged(before, after, unit) == expected.size());
      BlockDelta delta;
      CHECK(ListChanges(before, after, unit, delta) == expected.size());
      CHECK(delta.positions == expected);
      CHECK_FALSE(delta.whole);
      CHECK(CompareBlock(before, after, unit, delta) == expected.size());
      CHECK(delta.whole == (expected.size() > units / 2));
      Bytes patched = before;
      REQUIRE_OK(PatchBlock(delta, unit, patched));
      CHECK(patched == after);
      REQUIRE_OK(PatchBlock(delta, unit, patched));  // twice equals once
      CHECK(patched == after);
    }
  }
}

TEST_CASE("bit patterns are compared, not numbers") {
  const auto count = [](uint16_t before, uint16_t after) {
    uint8_t a[2], b[2];
    Store(a, before), Store(b, after);
    return CountChanged(a, b, 2);
  };
  CHECK(count(0x0000, 0x8000) == 1);  // 0.0 and -0.0
  CHECK(count(0x7fc0, 0x7fc0) == 0);  // a NaN equals itself
  CHECK(count(0x7fc0, 0x7fc1) == 1);  // and not another
}

TEST_CASE("a count is right for a whole block in which everything changed") {
  const Bytes zeros(kBlockBytes, 0), ones(kBlockBytes, 0xff);
  for (const unsigned unit : {1u, 2u, 4u, 8u}) CHECK(CountChanged(zeros, ones, unit) == kBlockBytes / unit);
}

TEST_CASE("a delta is taken over from scratch memory that held another") {
  BlockDelta delta;
  CompareBlock(Bytes{1, 2}, Bytes{3, 4}, 1, delta);
  CHECK(delta.whole);
  const Bytes before(40, 0);
  Bytes after = before;
  after[39] = 5;
  CompareBlock(before, after, 1, delta);
  CHECK_FALSE(delta.whole);
  CHECK(delta.positions == std::vector<uint32_t>{39});
  CHECK(delta.values == Bytes{5});
}

}  // namespace
}  // namespace wdelta
