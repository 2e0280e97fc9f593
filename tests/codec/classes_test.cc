#include "codec/events.h"
#include "support/expect.h"
#include "support/made_change.h"

namespace wdelta {
namespace {

Bytes CodedClasses(const MadeChange& change) {
  Bytes coded;
  REQUIRE(kClassesCodec.encode(change.View(), Level::kDefault, coded));
  return coded;
}

unsigned ClassCount(const Bytes& coded) {
  return (coded[0] & 15) + 1;
}

// Elements with the given exponents, each changed by a step of one or more where `changed` says so.
template <class Changed>
MadeChange ByExponent(const std::vector<unsigned>& exponents, Changed changed) {
  std::vector<uint16_t> before, after;
  for (size_t i = 0; i < exponents.size(); ++i) {
    before.push_back(static_cast<uint16_t>(exponents[i] << 7 | (i * 37 & 0x7f) | (i & 1) << 15));
    after.push_back(static_cast<uint16_t>(before.back() + (changed(i) ? i % 5 == 0 ? 3 : i % 2 ? 1 : 0xffff : 0)));
  }
  return ListedChange(before, after, Dtype::kBF16);
}

TEST_CASE("exponents with one member each survive, with or without a change in it") {
  std::vector<unsigned> exponents;
  for (unsigned e = 0; e < 256; ++e) exponents.push_back(e);
  for (const unsigned one_in : {1u, 2u, 3u, 50u}) {
    const MadeChange change = ByExponent(exponents, [&](size_t i) { return i % one_in == 0; });
    CHECK(Survives(change, kClassesCodec));
  }
  for (size_t only = 0; only < 256; ++only) {
    CHECK(Survives(ByExponent(exponents, [&](size_t i) { return i == only; }), kClassesCodec));
  }
}

TEST_CASE("all elements of one exponent are one class, whichever exponent it is") {
  for (const unsigned exponent : {0u, 1u, 120u, 254u, 255u}) {
    for (const unsigned one_in : {1u, 2u, 40u}) {
      const MadeChange change =
          ByExponent(std::vector<unsigned>(1000, exponent), [&](size_t i) { return i % one_in == 0; });
      CHECK(Survives(change, kClassesCodec));
      CHECK(ClassCount(CodedClasses(change)) <= 2);  // what is above it may be another
    }
  }
}

TEST_CASE("more exponents than classes share the first and the last class") {
  Dice dice(81);
  for (int round = 0; round < Rounds(100); ++round) {
    CAPTURE(round);
    std::vector<unsigned> exponents(3000);
    const unsigned low = static_cast<unsigned>(dice.Below(256)), width = static_cast<unsigned>(dice.Below(256 - low));
    for (unsigned& exponent : exponents) exponent = low + static_cast<unsigned>(dice.Below(width + 1));
    exponents[0] = 0;
    exponents[2999] = 255;
    const MadeChange change = ByExponent(exponents, [&](size_t i) { return dice.OneIn(9) || i == 0 || i == 2999; });
    CHECK(Survives(change, kClassesCodec));
    if (width > 40) CHECK(ClassCount(CodedClasses(change)) >= 15);  // nothing is above the highest exponent
  }
}

TEST_CASE("changes that follow the exponent cost less than the same changes that do not") {
  Dice dice(82);
  std::vector<unsigned> exponents(60000);
  for (unsigned& exponent : exponents) exponent = 110 + static_cast<unsigned>(dice.Below(10));
  const MadeChange gated = ByExponent(exponents, [&](size_t i) { return exponents[i] < 113 && dice.OneIn(3); });
  for (size_t i = exponents.size(); i > 1; --i) std::swap(exponents[i - 1], exponents[dice.Below(i)]);
  MadeChange mixed = gated;
  for (size_t i = 0; i < exponents.size(); ++i) {  // the same positions and steps on shuffled exponents
    const auto step = static_cast<uint16_t>(Load<uint16_t>(&gated.after[2 * i]) - Load<uint16_t>(&gated.before[2 * i]));
    const auto value = static_cast<uint16_t>(exponents[i] << 7 | 40);
    Store(&mixed.before[2 * i], value);
    Store(&mixed.after[2 * i], static_cast<uint16_t>(value + step));
  }
  mixed = ListedChange(mixed.before, mixed.after, Dtype::kBF16);
  CHECK(Survives(mixed, kClassesCodec));
  CHECK(CodedClasses(gated).size() * 5 < CodedClasses(mixed).size() * 4);
}

TEST_CASE("the largest steps and steps that wrap survive in each width") {
  for (const Dtype dtype :
       {Dtype::kI8, Dtype::kF8E4M3, Dtype::kBF16, Dtype::kI16, Dtype::kF32, Dtype::kF64, Dtype::kU64}) {
    CAPTURE(DtypeName(dtype));
    const unsigned unit = UnitBytes(dtype);
    std::vector<uint64_t> steps = {1, 2, 3, 4, 33, 34, 35, 36};
    for (unsigned bit = 0; bit < 8 * unit; ++bit) steps.push_back(uint64_t{1} << bit);
    const size_t single = steps.size();
    for (size_t i = 0; i < single; ++i) steps.push_back(0 - steps[i]);
    Bytes before, after;
    for (const uint64_t start :
         {uint64_t{0}, ~uint64_t{0}, uint64_t{1} << (8 * unit - 1), uint64_t{0x3f3f3f3f3f3f3f3f}}) {
      for (const uint64_t step : steps) {
        for (unsigned b = 0; b < unit; ++b) before.push_back(static_cast<uint8_t>(start >> (8 * b)));
        for (unsigned b = 0; b < unit; ++b) after.push_back(static_cast<uint8_t>((start + step) >> (8 * b)));
      }
    }
    CHECK(Survives(ListedChange(before, after, dtype), kClassesCodec));
  }
}

TEST_CASE("classes say nothing about a block without an old one, a whole one, or one without a change") {
  MadeChange change = ListedChange(Bytes(100, 1), Bytes(100, 2), Dtype::kBF16);
  CHECK(Survives(change, kClassesCodec));
  change.delta.whole = true;
  CHECK_FALSE(Survives(change, kClassesCodec));
  CHECK_FALSE(Survives(ListedChange(Bytes(100, 1), Bytes(100, 1), Dtype::kBF16), kClassesCodec));
  change.before.clear();
  CHECK_FALSE(Survives(change, kClassesCodec));
  BlockDelta delta;
  CHECK_FAILS(kClassesCodec.decode(Bytes(20, 0), change.Frame(), delta), ErrorKind::kIntegrity, "old block");
  CHECK_FAILS(kClassesCodec.decode({}, {{}, 0, Dtype::kBF16}, delta), ErrorKind::kIntegrity, "old block");
}

struct ClaimedHead {
  unsigned classes, first, runs;
};

Result<> DecodeClaim(const ClaimedHead& head, std::vector<std::pair<uint64_t, unsigned>> bits, size_t bytes,
                     Dtype dtype) {
  Bytes coded;
  BitWriter out(coded);
  out.Bits(head.classes - 1, 4);
  if (head.classes > 1) out.Bits(head.first, 11);
  out.Bits(head.runs, 3);
  for (const auto& [value, width] : bits) out.Bits(value, width);
  out.Finish();
  const Bytes old_block(bytes, 0x3c);
  BlockDelta delta;
  Result<> decoded = kClassesCodec.decode(coded, {old_block, bytes, dtype}, delta);
  constexpr size_t kRoom = 512;  // for what is found at a time
  CHECK(delta.positions.capacity() <= 8 * coded.size() + kRoom);
  CHECK(delta.values.capacity() <= 8 * (8 * coded.size() + kRoom));
  return decoded;
}

TEST_CASE("few bytes that claim many changes are refused before anything is made for them") {
  const std::pair<uint64_t, unsigned> no_members{0, 6};
  CHECK_FAILS(DecodeClaim({1, 0, 0}, {{0, 1}, {30, 5}, {0x1fffffff, 29}, {0, 5}}, kBlockBytes, Dtype::kBF16),
              ErrorKind::kIntegrity, "too many members");
  CHECK_FAILS(DecodeClaim({1, 0, 0}, {{0, 1}, {31, 5}, {0x3fffffff, 30}, {0, 5}}, kBlockBytes, Dtype::kBF16),
              ErrorKind::kIntegrity, "too many members");
  // As many as the block has, but more than there are bits.
  CHECK_FAILS(DecodeClaim({1, 0, 0}, {{0, 1}, {20, 5}, {0, 19}, {0, 5}}, kBlockBytes, Dtype::kBF16),
              ErrorKind::kIntegrity, "too many members");
  // All but none of a class of half a million.
  CHECK_FAILS(DecodeClaim({1, 0, 0}, {{1, 1}, {0, 5}}, kBlockBytes, Dtype::kBF16), ErrorKind::kIntegrity,
              "ends too early");
  CHECK_FAILS(DecodeClaim({1, 0, 0}, {{0, 1}, {1, 5}, {31, 5}}, 100, Dtype::kBF16), ErrorKind::kIntegrity,
              "Rice parameter");
  CHECK_FAILS(DecodeClaim({16, 250, 0}, {no_members}, 100, Dtype::kBF16), ErrorKind::kIntegrity, "out of range");
  CHECK_FAILS(DecodeClaim({2, 255, 0}, {no_members}, 100, Dtype::kBF16), ErrorKind::kIntegrity, "out of range");
  CHECK_FAILS(DecodeClaim({2, 0, 0}, {no_members}, 100, Dtype::kU8), ErrorKind::kIntegrity, "out of range");
  CHECK_FAILS(DecodeClaim({1, 0, 1}, {{8191, 13}}, kBlockBytes, Dtype::kBF16), ErrorKind::kIntegrity, "");
}

TEST_CASE("a member that its class does not have is refused") {
  // Of 50 elements with exponent 0x78: class 0 has none of them.
  CHECK_FAILS(DecodeClaim({2, 10, 0}, {{0, 1}, {1, 5}, {0, 5}, {1, 1}, {0, 6}, {0, 1}, {0, 1}}, 100, Dtype::kBF16),
              ErrorKind::kIntegrity, "outside its class");
}

TEST_CASE("a step that no two elements are apart is refused") {
  // One element; its first and only member changed, by more than one, more than two, and three more than `rest`.
  const auto decode = [](uint64_t rest, Dtype dtype) {
    return DecodeClaim({1, 0, 0}, {{0, 1}, {1, 5}, {0, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 4}, {0, 32}, {rest, 64}, {1, 1}},
                       UnitBytes(dtype), dtype);
  };
  for (const Dtype dtype : {Dtype::kU8, Dtype::kBF16, Dtype::kF32, Dtype::kF64}) {
    CAPTURE(DtypeName(dtype));
    const uint64_t largest = (uint64_t{1} << (8 * UnitBytes(dtype) - 1)) - 3;
    REQUIRE_OK(decode(largest, dtype));
    CHECK_FAILS(decode(largest + 1, dtype), ErrorKind::kIntegrity, "step too large");
    CHECK_FAILS(decode(2 * largest + 3, dtype), ErrorKind::kIntegrity, "step too large");  // would wrap to nothing
    CHECK_FAILS(decode(~uint64_t{0}, dtype), ErrorKind::kIntegrity, "step too large");
  }
}

TEST_CASE("damage to blocks of many classes, with and without idle runs, is refused or fits") {
  Dice dice(83);
  for (int round = 0; round < Rounds(60); ++round) {
    CAPTURE(round);
    CheckDamage(RandomBlockChange(dice, dice.OneIn(2) ? Dtype::kBF16 : Dtype::kF8E5M2, 1 + dice.Below(5000)),
                kClassesCodec, dice, 200);
  }
}

}  // namespace
}  // namespace wdelta
