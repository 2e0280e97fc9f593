// Every pattern of an element of two bytes, as old and as new, in each codec: zeros of both signs, denormals,
// infinities and NaNs of every payload among them.
#include <algorithm>
#include <numeric>

#include "support/expect.h"
#include "support/made_change.h"

namespace wdelta {
namespace {

using Elements = std::vector<uint16_t>;

Elements AllPatterns() {
  Elements all(65536);
  std::iota(all.begin(), all.end(), uint16_t{0});
  return all;
}

Elements Shuffled(Elements elements, uint64_t seed) {
  Dice dice(seed);
  for (size_t i = elements.size(); i > 1; --i) std::swap(elements[i - 1], elements[dice.Below(i)]);
  return elements;
}

template <class F>
Elements Each(Elements elements, F f) {
  for (uint16_t& element : elements) element = static_cast<uint16_t>(f(element));
  return elements;
}

// All codecs can say listed changes of these types; the chosen one too.
void CheckAllCodecs(const Elements& before, const Elements& after) {
  for (const Dtype dtype : {Dtype::kBF16, Dtype::kF16}) {
    CAPTURE(DtypeName(dtype));
    MadeChange change = ListedChange(before, after, dtype);
    change.columns = 256;
    for (const Codec& codec : CodecTable()) {
      CAPTURE(codec.name);
      CHECK(Survives(change, codec));
    }
    CompareBlock(change.before, change.after, 2, change.delta);  // as the library makes it
    for (const Level level : {Level::kFast, Level::kDefault, Level::kMax}) {
      Bytes coded;
      const uint8_t id = EncodeBlock(change.View(), level, nullptr, coded);
      REQUIRE_OK(CheckDecodes(change.View(), id, coded));
      CHECK(coded.size() <= change.after.size());
    }
  }
}

TEST_CASE("every pattern becomes another, in order and shuffled, and every pattern comes of another") {
  const Elements all = AllPatterns();
  CheckAllCodecs(all, Shuffled(all, 1));
  CheckAllCodecs(Shuffled(all, 2), all);
  CheckAllCodecs(Shuffled(all, 3), Shuffled(all, 4));
}

TEST_CASE("every pattern goes one up and one down, over the ends too") {
  const Elements all = AllPatterns();
  CheckAllCodecs(all, Each(all, [](uint16_t x) { return x + 1; }));
  CheckAllCodecs(all, Each(all, [](uint16_t x) { return x - 1; }));
  const Elements shuffled = Shuffled(all, 5);
  CheckAllCodecs(shuffled, Each(shuffled, [](uint16_t x) { return x % 3 == 0 ? x + 1 : x % 3 == 1 ? x - 1 : x; }));
}

TEST_CASE("every pattern flips its sign, all its bits, or its quiet bit") {
  const Elements all = AllPatterns();
  CheckAllCodecs(all, Each(all, [](uint16_t x) { return x ^ 0x8000; }));
  CheckAllCodecs(all, Each(all, [](uint16_t x) { return ~x; }));
  CheckAllCodecs(all, Each(all, [](uint16_t x) { return x ^ 0x40; }));
}

TEST_CASE("special values survive among ordinary ones that stay") {
  // Zeros, the smallest and largest denormals and normals, infinities, NaNs quiet and signalling, of bf16 and f16.
  Elements special;
  for (const unsigned x : {0x0000, 0x0001, 0x007f, 0x0080, 0x7f7f, 0x7f80, 0x7f81, 0x7fbf, 0x7fc0, 0x7fff, 0x03ff,
                           0x0400, 0x7bff, 0x7c00, 0x7c01, 0x7dff, 0x7e00}) {
    special.push_back(static_cast<uint16_t>(x));
    special.push_back(static_cast<uint16_t>(x | 0x8000));
  }
  Elements before, after;
  for (const uint16_t from : special) {
    for (const uint16_t to : special) {
      before.insert(before.end(), 30, 0x3c12);
      after.insert(after.end(), 30, 0x3c12);
      before.push_back(from);
      after.push_back(to);
    }
  }
  CheckAllCodecs(before, after);
}

TEST_CASE("every pattern of a byte becomes every other") {
  Bytes before, after;
  for (unsigned from = 0; from < 256; ++from) {
    for (unsigned to = 0; to < 256; ++to) {
      before.push_back(static_cast<uint8_t>(from));
      after.push_back(static_cast<uint8_t>(to));
    }
  }
  for (unsigned i = 0; i < kDtypeCount; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    if (UnitBytes(dtype) != 1) continue;
    CAPTURE(DtypeName(dtype));
    const MadeChange change = ListedChange(before, after, dtype);
    for (const Codec& codec : CodecTable()) {
      CAPTURE(codec.name);
      const bool said = Survives(change, codec);
      if (codec.name != "adaptive") CHECK(said);
    }
  }
}

TEST_CASE("a block of one element survives, whatever it was and becomes") {
  for (unsigned from = 0; from < 65536; from += 251) {
    for (const unsigned step : {1u, 2u, 3u, 255u, 32767u, 32768u, 65535u}) {
      const MadeChange change =
          ListedChange(Elements{static_cast<uint16_t>(from)}, {static_cast<uint16_t>(from + step)}, Dtype::kBF16);
      for (const Codec& codec : CodecTable()) {
        CAPTURE(codec.name);
        CHECK(Survives(change, codec));
      }
    }
  }
}

}  // namespace
}  // namespace wdelta
