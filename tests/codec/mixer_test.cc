#include "codec/mixer.h"

#include <doctest/doctest.h>

#include <cmath>

#include "support/random_checkpoint.h"

namespace wdelta {
namespace {

TEST_CASE("squash rises, stays within its range, is symmetric and near the logistic function") {
  for (int x = -2047; x <= 2047; ++x) {
    const int chance = Squash(x);
    CHECK(chance > 0);
    CHECK(chance < 65536);
    if (x > -2047) CHECK(chance >= Squash(x - 1));
    CHECK(std::abs(chance + Squash(-x) - 65536) <= 1);
    // Lines half a unit long leave the curve by its second derivative / 32, at most 0.003.
    CHECK(std::abs(chance - 65536 / (1 + std::exp(-x / 256.0))) < 200);
  }
}

TEST_CASE("stretch rises, stays within the range of squash, and finds the smallest x that reaches a chance") {
  for (unsigned chance = 0; chance < 65536; ++chance) {
    const int x = Stretch(chance);
    REQUIRE(x >= -2047);
    REQUIRE(x <= 2047);
    if (chance > 0) REQUIRE(x >= Stretch(chance - 1));
    const int wanted = static_cast<int>(chance >> 4);
    if (x < 2047) REQUIRE((Squash(x) >> 4) >= wanted);
    if (x > -2047) REQUIRE((Squash(x - 1) >> 4) < wanted);
  }
  CHECK(Stretch(32768) == 0);
  CHECK(Stretch(1u << 20) == Stretch(65535));
}

TEST_CASE("squash gives back, within its steps, the chance that was stretched") {
  for (unsigned chance = 64; chance < 65472; ++chance) {
    REQUIRE(std::abs(Squash(Stretch(chance)) - static_cast<int>(chance)) < 80);
  }
}

TEST_CASE("a mixer's chance stays where the coder can use it, however long and certain its inputs are") {
  for (const bool bit : {false, true}) {
    Mixer<3> mixer;
    unsigned chance = 0;
    for (int i = 0; i < 300000; ++i) {
      chance = mixer.Mix({bit ? 65535u : 0u, bit ? 65535u : 0u, 32768});
      REQUIRE(chance >= 64);
      REQUIRE(chance <= 65472);
      mixer.Learn(bit);
    }
    CHECK(chance == (bit ? 65472 : 64));
  }
}

TEST_CASE("a mixer's chance stays in range when certain inputs are wrong at random") {
  Dice dice(51);
  Mixer<3> mixer;
  for (int i = 0; i < 300000; ++i) {
    const unsigned chance =
        mixer.Mix({dice.OneIn(2) ? 65535u : 0, dice.OneIn(2) ? 65535u : 0, dice.OneIn(3) ? 0u : 9u});
    REQUIRE(chance >= 64);
    REQUIRE(chance <= 65472);
    mixer.Learn(dice.OneIn(2));
  }
}

TEST_CASE("a mixer learns which of its inputs to follow") {
  Dice dice(52);
  Mixer<3> mixer;
  unsigned right = 0;
  for (int i = 0; i < 20000; ++i) {
    const bool bit = dice.OneIn(2);
    const bool wrong = dice.OneIn(2);
    const unsigned chance = mixer.Mix({bit ? 50000u : 15000u, wrong ? 50000u : 15000u, bit ? 15000u : 50000u});
    if (i >= 10000) right += (chance > 32768) == bit;
    mixer.Learn(bit);
  }
  CHECK(right > 9900);
}

}  // namespace
}  // namespace wdelta
