#include "support/made_change.h"

#include <algorithm>

#include "codec/class_scan.h"
#include "support/expect.h"

namespace wdelta {

namespace {

// As trained weights are: exponents near each other, small ones rarer, now and then any pattern at all.
Bytes Weights(Dice& dice, Dtype dtype, size_t units) {
  const unsigned unit = UnitBytes(dtype);
  const ExponentField field = ExponentOf(dtype);
  Bytes block = RandomBytes(dice, units * unit);
  if (field.mask == 0 || dice.OneIn(6)) return block;
  const uint64_t top = dice.Below(field.mask + 1);
  for (size_t i = 0; i < units; ++i) {
    if (dice.OneIn(100)) continue;
    uint64_t value = 0;
    std::memcpy(&value, block.data() + i * unit, unit);
    uint64_t exponent = top;
    while (exponent > 0 && dice.OneIn(2)) --exponent;
    value = (value & ~(uint64_t{field.mask} << field.shift)) | exponent << field.shift;
    std::memcpy(block.data() + i * unit, &value, unit);
  }
  return block;
}

uint64_t RandomStep(Dice& dice, unsigned kind) {
  uint64_t size = 1;
  if (kind == 1) {
    while (dice.OneIn(3)) ++size;
  }
  if (kind == 2) size = dice.Bits() >> dice.Below(64);
  if (kind == 3) size = uint64_t{1} << dice.Below(64);
  return dice.OneIn(2) ? size : 0 - size;
}

}  // namespace

MadeChange ListedChange(Bytes before, Bytes after, Dtype dtype) {
  MadeChange change;
  change.before = std::move(before);
  change.after = std::move(after);
  change.dtype = dtype;
  ListChanges(change.before, change.after, UnitBytes(dtype), change.delta);
  return change;
}

MadeChange ListedChange(const std::vector<uint16_t>& before, const std::vector<uint16_t>& after, Dtype dtype) {
  const auto bytes = [](const std::vector<uint16_t>& elements) {
    Bytes block(elements.size() * 2);
    std::memcpy(block.data(), elements.data(), block.size());
    return block;
  };
  return ListedChange(bytes(before), bytes(after), dtype);
}

MadeChange RandomBlockChange(Dice& dice, Dtype dtype, size_t units) {
  const unsigned unit = UnitBytes(dtype);
  Bytes before = Weights(dice, dtype, units), after = before;
  const uint64_t one_in = dice.Pick(std::vector<uint64_t>{1, 1, 2, 10, 100, 1000, 10000});
  const uint64_t idle_run = dice.OneIn(2) ? 0 : uint64_t{32} << dice.Below(10), idle_key = dice.Bits();
  const auto kind = static_cast<unsigned>(dice.Below(4));
  const auto alter = [&](size_t i) {
    uint64_t value = 0;
    std::memcpy(&value, before.data() + i * unit, unit);
    value += RandomStep(dice, dice.OneIn(50) ? 2 : kind);
    std::memcpy(after.data() + i * unit, &value, unit);
  };
  for (size_t i = 0; i < units; ++i) {
    if (idle_run > 0 && (i / idle_run * 0x9e3779b97f4a7c15 ^ idle_key) >> 61 != 0) continue;
    if (dice.OneIn(one_in)) alter(i);
  }
  if (dice.OneIn(4)) alter(units - 1);
  MadeChange change = ListedChange(std::move(before), std::move(after), dtype);
  if (dice.OneIn(4)) CompareBlock(change.before, change.after, unit, change.delta);
  if (dice.OneIn(20)) {
    change.before.clear();
    change.delta.Clear();
    change.delta.whole = true;
  }
  if (dice.OneIn(2)) change.columns = 1 + dice.Below(dice.OneIn(5) ? 100000 : 300);
  change.first_unit = dice.Below(1000000);
  return change;
}

int Rounds(int usual) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return std::max(1, usual / 8);
#else
  return usual;
#endif
}

Result<Bytes> DecodedBlock(const MadeChange& change, const Codec& codec, ByteSpan coded) {
  BlockDelta delta;
  delta.positions = {7, 3};  // what is left from another block does not matter
  delta.values = {1};
  WD_TRY(codec.decode(coded, change.Frame(), delta));
  Bytes block = change.before;
  block.resize(change.after.size());
  WD_TRY(PatchBlock(delta, UnitBytes(change.dtype), block));
  return block;
}

bool Survives(const MadeChange& change, const Codec& codec, Level level) {
  Bytes coded = {'x'}, again;
  if (!codec.encode(change.View(), level, coded)) {
    CHECK(coded == Bytes{'x'});
    return false;
  }
  REQUIRE(codec.encode(change.View(), level, again));
  coded.erase(coded.begin());
  CHECK(coded == again);
  const auto block = DecodedBlock(change, codec, coded);
  REQUIRE_OK(block);
  CHECK((*block == change.after));
  return true;
}

void CheckDamage(const MadeChange& change, const Codec& codec, Dice& dice, size_t flips) {
  Bytes coded;
  if (!codec.encode(change.View(), Level::kDefault, coded)) return;
  const auto check = [&](ByteSpan bad) {
    BlockDelta delta;
    const auto decoded = codec.decode(bad, change.Frame(), delta);
    if (!decoded.ok()) {
      CHECK(decoded.error().kind == ErrorKind::kIntegrity);
      return false;
    }
    Bytes block = change.before;
    block.resize(change.after.size());
    REQUIRE_OK(PatchBlock(delta, UnitBytes(change.dtype), block));
    return true;
  };
  for (size_t length = 0; length < coded.size(); ++length) CHECK_FALSE(check(ByteSpan(coded).first(length)));
  for (size_t flip = 0; flip < std::min(flips, coded.size() * 8); ++flip) {
    const size_t bit = coded.size() * 8 <= flips ? flip : dice.Below(coded.size() * 8);
    Bytes bad = coded;
    bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    check(bad);
  }
  Bytes longer = coded;
  longer.push_back(0);
  CHECK_FALSE(check(longer));
}

}  // namespace wdelta
