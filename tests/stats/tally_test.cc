#include "stats/tally.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "support/random_checkpoint.h"

namespace wdelta {
namespace {

// Old and new bytes of some elements, most of them alike.
struct Pair {
  Bytes before, after;
};

Pair RandomPair(Dice& dice, Dtype dtype) {
  const unsigned unit = UnitBytes(dtype);
  const size_t units = 1 + dice.Below(uint64_t{1} << (2 + dice.Below(12)));
  Pair pair;
  pair.before = RandomBytes(dice, units * unit);
  if (const std::optional<FloatForm> form = FloatFormOf(dtype); form && !dice.OneIn(4)) {  // like weights
    const uint64_t center = dice.Below(form->exponent_mask() + 1), width = 1 + dice.Below(24);
    for (size_t i = 0; i < units; ++i) {
      uint64_t value = 0;
      std::memcpy(&value, pair.before.data() + i * unit, unit);
      const uint64_t field = std::min(form->exponent_mask(), center + dice.Below(width));
      value = (value & ~(form->exponent_mask() << form->mantissa_bits)) | field << form->mantissa_bits;
      std::memcpy(pair.before.data() + i * unit, &value, unit);
    }
  }
  pair.after = pair.before;
  const uint64_t one_in = uint64_t{1} << dice.Below(10);
  for (size_t i = 0; i < units; ++i) {
    if (dice.OneIn(one_in)) pair.after[i * unit + dice.Below(unit)] ^= static_cast<uint8_t>(dice.Bits());
  }
  return pair;
}

void CheckSame(const BlockTally& a, const BlockTally& b) {
  CHECK(a.units_changed == b.units_changed);
  CHECK(a.nan == b.nan);
  CHECK(a.inf == b.inf);
  CHECK(a.base_nan == b.base_nan);
  CHECK(a.base_inf == b.base_inf);
  CHECK(a.rows.count == b.rows.count);
  CHECK(a.slices == b.slices);
  CHECK(a.largest_change == b.largest_change);
  CHECK(a.largest_at == b.largest_at);
  CHECK(a.squared_change == b.squared_change);
}

TEST_CASE("both forms of the tally find the same, and what counting by hand finds") {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    const auto dtype =
        dice.OneIn(2) ? dice.Pick(std::vector{Dtype::kBF16, Dtype::kF16}) : static_cast<Dtype>(dice.Below(kDtypeCount));
    CAPTURE(DtypeName(dtype));
    const unsigned unit = UnitBytes(dtype);
    const std::optional<FloatForm> form = FloatFormOf(dtype);
    const uint64_t columns = 1 + dice.Below(100), slice = dice.OneIn(2) ? 1 + dice.Below(500) : 0;
    Tally fastest(Tally::Speed::kFastest), portable(Tally::Speed::kPortable);
    uint64_t nan = 0, inf = 0, base_nan = 0, changed = 0, elements_by_exponent = 0, changed_by_exponent = 0;
    for (int round = 0; round < 3; ++round) {  // the window moves from piece to piece
      const Pair pair = RandomPair(dice, dtype);
      const TallyPiece piece{pair.before, pair.after, dtype, dice.Below(1000), columns, slice};
      const BlockTally counted = fastest.Count(piece);
      CheckSame(counted, portable.Count(piece));
      CHECK(counted.units_changed == CountChanged(pair.before, pair.after, unit));
      changed += counted.units_changed;
      nan += counted.nan, inf += counted.inf, base_nan += counted.base_nan;
      std::vector<uint64_t> rows, slices;
      for (size_t i = 0; i < pair.before.size() / unit; ++i) {
        uint64_t before = 0, after = 0;
        std::memcpy(&before, pair.before.data() + i * unit, unit);
        std::memcpy(&after, pair.after.data() + i * unit, unit);
        if (form) nan -= form->IsNan(after), inf -= form->IsInf(after), base_nan -= form->IsNan(before);
        if (before == after) continue;
        const uint64_t at = piece.first_unit + i;
        if (rows.empty() || rows.back() != at / columns) rows.push_back(at / columns);
        if (slice != 0 && (slices.empty() || slices.back() != at / slice)) slices.push_back(at / slice);
      }
      CHECK(counted.rows.count == rows.size());
      CHECK(std::vector<uint64_t>(counted.slices.begin(), counted.slices.end()) == slices);
      elements_by_exponent += form ? pair.before.size() / unit : 0;
      changed_by_exponent += form ? counted.units_changed : 0;
    }
    CHECK(nan == 0);
    CHECK(inf == 0);
    CHECK(base_nan == 0);
    const TallyTotals::ByExponent &fast = fastest.totals().exponents[static_cast<size_t>(dtype)],
                                  &slow = portable.totals().exponents[static_cast<size_t>(dtype)];
    CHECK(fast.elements == slow.elements);
    CHECK(fast.changed == slow.changed);
    CHECK(fastest.totals().steps == portable.totals().steps);
    for (const uint64_t count : fast.elements) elements_by_exponent -= count;
    for (const uint64_t count : fast.changed) changed_by_exponent -= count;
    CHECK(elements_by_exponent == 0);
    CHECK(changed_by_exponent == 0);
  }
}

TEST_CASE("a tally of a block is that of its pieces, one after the other") {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    const Pair pair = RandomPair(dice, Dtype::kBF16);
    const uint64_t columns = 1 + dice.Below(50), slice = 1 + dice.Below(200);
    Tally whole, parts;
    const BlockTally expected = whole.Count({pair.before, pair.after, Dtype::kBF16, 0, columns, slice});
    BlockTally sum;
    for (size_t at = 0; at < pair.before.size();) {
      const size_t length = std::min(pair.before.size() - at, 2 * (1 + dice.Below(300)));
      sum.Append(parts.Count({ByteSpan(pair.before).subspan(at, length), ByteSpan(pair.after).subspan(at, length),
                              Dtype::kBF16, at / 2, columns, slice}));
      at += length;
    }
    sum.squared_change = expected.squared_change;  // sums of doubles depend on their order
    CheckSame(sum, expected);
  }
}

TEST_CASE("steps are counted in numbers, up and down, across zero too") {
  const auto count = [](uint16_t before, uint16_t after) {
    Tally tally;
    const Bytes a{static_cast<uint8_t>(before), static_cast<uint8_t>(before >> 8)};
    const Bytes b{static_cast<uint8_t>(after), static_cast<uint8_t>(after >> 8)};
    tally.Count({a, b, Dtype::kBF16, 0, 1, 0});
    return tally.totals();
  };
  CHECK(count(0x3f80, 0x3f81).steps[TallyTotals::kUp][0] == 1);    // 1 to the next
  CHECK(count(0xbf80, 0xbf81).steps[TallyTotals::kDown][0] == 1);  // -1 to the one before
  CHECK(count(0x3f82, 0x3f80).steps[TallyTotals::kDown][1] == 1);
  CHECK(count(0x3f80, 0x3f84).steps[TallyTotals::kUp][2] == 1);
  CHECK(count(0x8001, 0x0001).steps[TallyTotals::kUp][1] == 1);    // through zero: two steps
  CHECK(count(0x0000, 0x8000).steps[TallyTotals::kDown][0] == 1);  // plus to minus zero
  const TallyTotals to_nan = count(0x3f80, 0x7fc0);
  CHECK(to_nan.steps == TallyTotals{}.steps);
}

TEST_CASE("the largest change is told with its place and both values") {
  Bytes before(8), after(8);
  Store<uint16_t>(before.data() + 2, 0x3f80), Store<uint16_t>(after.data() + 2, 0x4000);  // 1 to 2
  Store<uint16_t>(before.data() + 6, 0x3f80), Store<uint16_t>(after.data() + 6, 0x3f00);  // 1 to 0.5
  Tally tally;
  const BlockTally counted = tally.Count({before, after, Dtype::kBF16, 100, 2, 0});
  CHECK(counted.largest_change == 1);
  CHECK(counted.largest_at == 101);
  CHECK(counted.largest_before == 1);
  CHECK(counted.largest_after == 2);
  CHECK(counted.squared_change == 1.25);
}

}  // namespace
}  // namespace wdelta
