#include "support/expect.h"
#include "support/made_change.h"

namespace wdelta {
namespace {

Bytes CodedPlanes(const MadeChange& change) {
  Bytes coded;
  REQUIRE(kPlanesCodec.encode(change.View(), Level::kDefault, coded));
  return coded;
}

constexpr uint8_t kNew = 0, kStep = 1;

MadeChange NearEverywhere(Dice& dice, Dtype dtype, size_t units) {
  const unsigned unit = UnitBytes(dtype);
  Bytes before = RandomBytes(dice, units * unit), after = before;
  for (size_t i = 0; i < units; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, &before[i * unit], unit);
    value += dice.Below(9) - 4;
    std::memcpy(&after[i * unit], &value, unit);
  }
  MadeChange change = ListedChange(before, after, dtype);
  CompareBlock(change.before, change.after, unit, change.delta);
  return change;
}

TEST_CASE("changes that are small but everywhere are said as steps, far shorter than the block") {
  Dice dice(91);
  for (unsigned i = 0; i < kDtypeCount; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    CAPTURE(DtypeName(dtype));
    const MadeChange change = NearEverywhere(dice, dtype, 5000);
    CHECK(Survives(change, kPlanesCodec));
    const Bytes coded = CodedPlanes(change);
    CHECK(coded[0] == kStep);
    CHECK(coded.size() < 5000 * 0.6);
  }
}

TEST_CASE("a block without an old one, or one that has nothing to do with it, is said as new elements") {
  Dice dice(92);
  std::vector<uint16_t> weights(4000), others(4000);
  for (auto* elements : {&weights, &others}) {
    for (uint16_t& element : *elements) {
      element = static_cast<uint16_t>(dice.Below(2) << 15 | (118 + dice.Below(4)) << 7 | dice.Below(128));
    }
  }
  MadeChange change = ListedChange(others, weights, Dtype::kBF16);
  CHECK(Survives(change, kPlanesCodec));
  CHECK(CodedPlanes(change)[0] == kNew);
  change.before.clear();
  change.delta.Clear();
  change.delta.whole = true;
  CHECK(Survives(change, kPlanesCodec));
  const Bytes coded = CodedPlanes(change);
  CHECK(coded[0] == kNew);
  CHECK(coded.size() < 4000 * 1.4);  // a byte of sign and mantissa, and few exponents
}

TEST_CASE("a block that did not change at all costs a few bytes") {
  Dice dice(93);
  const Bytes block = RandomBytes(dice, 8000);
  const MadeChange change = ListedChange(block, block, Dtype::kF64);
  CHECK(Survives(change, kPlanesCodec));
  CHECK(CodedPlanes(change).size() < 50);
}

TEST_CASE("steps need an old block of the same length, and an unknown kind is refused") {
  Dice dice(94);
  const MadeChange change = NearEverywhere(dice, Dtype::kF32, 100);
  Bytes coded = CodedPlanes(change);
  REQUIRE(coded[0] == kStep);
  BlockDelta delta;
  CHECK_FAILS(kPlanesCodec.decode(coded, {{}, 400, Dtype::kF32}, delta), ErrorKind::kIntegrity, "old block");
  coded[0] = 2;
  CHECK_FAILS(kPlanesCodec.decode(coded, change.Frame(), delta), ErrorKind::kIntegrity, "unknown kind");
}

TEST_CASE("planes that are longer or shorter than the block, too few or too many are refused") {
  const auto decode = [](size_t length, int planes) {
    Bytes coded = {kNew};
    for (int i = 0; i < planes; ++i) PutByteStream(Bytes(length, 5), 1, coded);
    BlockDelta delta;
    return kPlanesCodec.decode(coded, {{}, 200, Dtype::kBF16}, delta);
  };
  REQUIRE_OK(decode(100, 2));
  CHECK_FAILS(decode(101, 2), ErrorKind::kIntegrity, "at most 100");
  CHECK_FAILS(decode(99, 2), ErrorKind::kIntegrity, "wrong length");
  CHECK_FAILS(decode(100, 1), ErrorKind::kIntegrity, "too early");
  CHECK_FAILS(decode(100, 3), ErrorKind::kIntegrity, "too many");
  ByteWriter huge;
  huge.Fixed<uint8_t>(kNew);
  huge.Varint(uint64_t{1} << 40);
  huge.Fixed<uint16_t>(0x0101);
  BlockDelta delta;
  CHECK_FAILS(kPlanesCodec.decode(huge.bytes(), {{}, 200, Dtype::kBF16}, delta), ErrorKind::kIntegrity, "at most 100");
}

}  // namespace
}  // namespace wdelta
