// Both forms of the scan against each other and against counting by hand. The codec has no switch for the form, so
// this is where their bytes are held to be the same: all that reaches the codec is what is compared here.
#include "codec/class_scan.h"

#include <doctest/doctest.h>

#include "support/random_checkpoint.h"

namespace wdelta {
namespace {

const Dtype kWithExponent[] = {Dtype::kBF16,   Dtype::kF16,        Dtype::kF32,    Dtype::kF64,
                               Dtype::kF8E4M3, Dtype::kF8E4M3Fnuz, Dtype::kF8E5M2, Dtype::kF8E5M2Fnuz};

struct Case {
  Bytes block;
  unsigned unit = 2;
  ClassMap map;
  std::vector<uint64_t> active;

  size_t units() const { return block.size() / unit; }
  uint64_t Element(size_t i) const {
    uint64_t value = 0;
    std::memcpy(&value, block.data() + i * unit, unit);
    return value;
  }
  bool Active(size_t i) const { return active[i / 64] != 0; }
  ClassScan Scan(ClassScan::Form form) const { return ClassScan({block, unit, map, active}, form); }
};

Case RandomCase(Dice& dice) {
  Case made;
  const bool flat = dice.OneIn(6);
  const auto dtype = flat ? static_cast<Dtype>(dice.Below(kDtypeCount))
                          : dice.Pick(std::vector(std::begin(kWithExponent), std::end(kWithExponent)));
  made.unit = UnitBytes(dtype);
  made.map.field = ExponentOf(dtype);
  const uint32_t mask = made.map.field.mask;
  made.map.first = static_cast<uint32_t>(dice.Below(mask + 1));
  made.map.count = 1 + static_cast<unsigned>(dice.Below(std::min(kMaxClasses, mask - made.map.first + 1)));
  if (dice.OneIn(4)) made.map.count = std::min(kMaxClasses, mask - made.map.first + 1);
  const size_t units = 1 + dice.Below(uint64_t{1} << (3 + dice.Below(13)));
  made.block = RandomBytes(dice, units * made.unit);
  if (dice.OneIn(2)) {  // exponents near the classes
    for (size_t i = 0; i < units; ++i) {
      const uint64_t exponent = std::min<uint64_t>(mask, made.map.first + dice.Below(made.map.count + 2));
      const uint64_t value =
          (made.Element(i) & ~(uint64_t{mask} << made.map.field.shift)) | exponent << made.map.field.shift;
      std::memcpy(made.block.data() + i * made.unit, &value, made.unit);
    }
  }
  const uint64_t idle = dice.Below(4);
  for (size_t word = 0; word * 64 < units; ++word) {
    made.active.push_back(idle > 0 && dice.Below(4) < idle ? 0 : ~uint64_t{0});
  }
  return made;
}

std::vector<uint32_t> RandomPositions(Dice& dice, const Case& made) {
  const uint64_t one_in = uint64_t{1} << dice.Below(10);
  std::vector<uint32_t> positions;
  for (size_t i = 0; i < made.units(); ++i) {
    if (made.Active(i) && dice.OneIn(one_in)) positions.push_back(static_cast<uint32_t>(i));
  }
  return positions;
}

TEST_CASE("an element's class is its exponent, with all smaller ones in the first and all larger ones in the last") {
  const ClassMap map{ExponentOf(Dtype::kBF16), 100, 4};
  const unsigned wanted[][2] = {{0, 0}, {99, 0}, {100, 0}, {101, 1}, {102, 2}, {103, 3}, {104, 3}, {255, 3}};
  for (const auto& [exponent, c] : wanted) {
    for (const uint64_t mantissa_and_sign : {0x0000, 0x007f, 0x8000, 0x807f}) {
      CHECK(map.Of(uint64_t{exponent} << 7 | mantissa_and_sign) == c);
    }
  }
  const ClassMap one{ExponentOf(Dtype::kI32), 0, 1};
  CHECK(one.Of(0) == 0);
  CHECK(one.Of(0xffffffff) == 0);
}

TEST_CASE("every dtype's exponent lies within its element") {
  for (unsigned i = 0; i < kDtypeCount; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    const ExponentField field = ExponentOf(dtype);
    CAPTURE(DtypeName(dtype));
    // Just below the sign, which is the highest bit.
    if (field.mask != 0)
      CHECK(((uint64_t{field.mask} + 1) << field.shift) == (uint64_t{1} << (8 * UnitBytes(dtype) - 1)));
  }
}

TEST_CASE("both forms number and count the members of each class as counting by hand does") {
  Dice dice(71);
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const Case made = RandomCase(dice);
    const std::vector<uint32_t> positions = RandomPositions(dice, made);
    ClassRanks wanted, fast, portable;
    ClassCounts counts{};
    auto position = positions.begin();
    for (size_t i = 0; i < made.units(); ++i) {
      if (!made.Active(i)) continue;
      const unsigned c = made.map.Of(made.Element(i));
      if (position != positions.end() && *position == i) {
        wanted[c].push_back(counts[c]);
        ++position;
      }
      ++counts[c];
    }
    CHECK(made.Scan(ClassScan::Form::kFastest).Rank(positions, fast) == counts);
    CHECK(made.Scan(ClassScan::Form::kPortable).Rank(positions, portable) == counts);
    CHECK((fast == wanted));
    CHECK((portable == wanted));
  }
}

TEST_CASE("both forms select the listed members, or the others, and so undo the numbering") {
  Dice dice(72);
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const Case made = RandomCase(dice);
    const std::vector<uint32_t> positions = RandomPositions(dice, made);
    ClassRanks ranks;
    const ClassCounts counts = made.Scan(ClassScan::Form::kFastest).Rank(positions, ranks);
    const auto complement = static_cast<uint32_t>(dice.OneIn(2) ? 0 : dice.Below(1u << made.map.count));
    BlockDelta wanted;
    auto position = positions.begin();
    for (size_t i = 0; i < made.units(); ++i) {
      const bool listed = position != positions.end() && *position == i;
      if (listed) ++position;
      const bool others = complement >> made.map.Of(made.Element(i)) & 1;
      if (!made.Active(i) || listed == others) continue;
      wanted.positions.push_back(static_cast<uint32_t>(i));
      const auto element = ByteSpan(made.block).subspan(i * made.unit, made.unit);
      wanted.values.insert(wanted.values.end(), element.begin(), element.end());
    }
    for (const auto form : {ClassScan::Form::kFastest, ClassScan::Form::kPortable}) {
      BlockDelta found{true, {7, 8, 9}, {1, 2, 3}};  // what was in there does not matter
      CHECK(made.Scan(form).Select(ranks, complement, wanted.positions.size(), found) == counts);
      CHECK_FALSE(found.whole);
      CHECK(found.positions == wanted.positions);
      CHECK(found.values == wanted.values);
      if (wanted.positions.empty()) continue;
      CHECK(made.Scan(form).Select(ranks, complement, wanted.positions.size() - 1, found) == counts);
      CHECK(found.positions.empty());  // one too many
      CHECK(found.values.empty());
    }
  }
}

TEST_CASE("both forms treat listed members that do not exist alike") {
  Dice dice(73);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const Case made = RandomCase(dice);
    ClassRanks ranks;
    for (unsigned c = 0; c < made.map.count; ++c) {
      uint64_t next = dice.Below(10);
      for (; next < made.units() * 2; next += 1 + dice.Below(300)) ranks[c].push_back(static_cast<uint32_t>(next));
    }
    const auto complement = static_cast<uint32_t>(dice.Below(1u << made.map.count));
    BlockDelta fast, portable;
    const ClassCounts counts = made.Scan(ClassScan::Form::kFastest).Select(ranks, complement, made.units(), fast);
    CHECK(counts == made.Scan(ClassScan::Form::kPortable).Select(ranks, complement, made.units(), portable));
    CHECK(fast.positions == portable.positions);
    CHECK(fast.values == portable.values);
  }
}

TEST_CASE("a class with more members than a byte counts is counted right") {
  for (const unsigned unit : {1u, 2u}) {
    Case made;
    made.unit = unit;
    made.map = {ExponentOf(unit == 1 ? Dtype::kF8E4M3 : Dtype::kBF16), 0, 2};
    made.block = Bytes((uint64_t{1} << 20) - 3 * unit, 0);
    made.active.assign((made.units() + 63) / 64, ~uint64_t{0});
    const std::vector<uint32_t> positions = {
        0, 63, 64, 64 * 127 - 1, 64 * 127, 64 * 255, static_cast<uint32_t>(made.units() - 1)};
    for (const auto form : {ClassScan::Form::kFastest, ClassScan::Form::kPortable}) {
      ClassRanks ranks;
      const ClassCounts counts = made.Scan(form).Rank(positions, ranks);
      CHECK(counts[0] == made.units());
      CHECK(counts[1] == 0);
      CHECK(ranks[0] == positions);
    }
  }
}

}  // namespace
}  // namespace wdelta
