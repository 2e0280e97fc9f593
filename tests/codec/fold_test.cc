#include "codec/fold.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include "support/random_checkpoint.h"

namespace wdelta {
namespace {

template <class T>
void CheckSmallAndExtreme() {
  CHECK(Fold<T>(0) == 0);
  for (T size = 1; size < 60; ++size) {
    CHECK(Fold<T>(static_cast<T>(0 - size)) == static_cast<T>(2 * size - 1));
    CHECK(Fold<T>(size) == static_cast<T>(2 * size));
  }
  constexpr T kMax = std::numeric_limits<T>::max();
  const T most_negative = static_cast<T>(T{1} << (8 * sizeof(T) - 1));
  CHECK(Fold<T>(most_negative) == kMax);
  CHECK(Fold<T>(static_cast<T>(most_negative - 1)) == static_cast<T>(kMax - 1));
  for (const T step : {T{0}, most_negative, static_cast<T>(most_negative - 1), kMax}) {
    CHECK(Unfold<T>(Fold<T>(step)) == step);
  }
}

TEST_CASE("small steps in either direction fold to small numbers, the largest step to the largest number") {
  CheckSmallAndExtreme<uint8_t>();
  CheckSmallAndExtreme<uint16_t>();
  CheckSmallAndExtreme<uint32_t>();
  CheckSmallAndExtreme<uint64_t>();
}

TEST_CASE("folding is a permutation of all steps of one and two bytes, and unfolding undoes it") {
  std::vector<bool> seen(65536);
  for (unsigned step = 0; step < 65536; ++step) {
    const uint16_t folded = Fold(static_cast<uint16_t>(step));
    CHECK_FALSE(seen[folded]);
    seen[folded] = true;
    CHECK(Unfold(folded) == step);
  }
  for (unsigned step = 0; step < 256; ++step) CHECK(Unfold(Fold(static_cast<uint8_t>(step))) == step);
}

TEST_CASE("unfolding undoes folding for wide steps") {
  Dice dice(41);
  for (int i = 0; i < 10000; ++i) {
    const uint64_t step = dice.Bits() >> dice.Below(64);
    CHECK(Unfold(Fold(step)) == step);
    CHECK(Unfold(Fold(static_cast<uint32_t>(step))) == static_cast<uint32_t>(step));
  }
}

}  // namespace
}  // namespace wdelta
