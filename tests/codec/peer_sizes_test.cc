#include "codec/peer_sizes.h"

#include <doctest/doctest.h>

#include <cmath>

#include "support/random_checkpoint.h"

namespace wdelta {
namespace {

TEST_CASE("raw is an index and a value for each change") {
  Bytes before(4096), after(4096);
  for (const size_t at : {0, 100, 4094}) Store<uint16_t>(after.data() + at, 1);
  PeerMeter meter;
  meter.AddBlock(before, after, Dtype::kBF16);
  CHECK(meter.FinishTensor().raw == 3 * 6);
  meter.AddBlock(before, after, Dtype::kF32);
  CHECK(meter.FinishTensor().raw == 3 * 8);
}

TEST_CASE("the entropy is that of the mask when all changes are one step, and knowing the exponent only helps") {
  Dice dice(7);
  Bytes before(1 << 16), after;
  for (size_t i = 0; i < before.size(); i += 2) {
    Store<uint16_t>(before.data() + i, static_cast<uint16_t>(dice.OneIn(2) ? 0x3f80 : 0x3c00));
  }
  after = before;
  const size_t units = before.size() / 2;
  size_t changed = 0;
  for (size_t i = 0; i < units; ++i) {  // only small ones change, half of them
    if (before[2 * i + 1] != 0x3c || !dice.OneIn(2)) continue;
    ++after[2 * i];
    ++changed;
  }
  PeerMeter meter;
  meter.AddBlock(before, after, Dtype::kBF16);
  const PeerSizes sizes = meter.FinishTensor();
  const double p = static_cast<double>(changed) / static_cast<double>(units);
  const double mask = -static_cast<double>(units) * (p * std::log2(p) + (1 - p) * std::log2(1 - p)) / 8;
  CHECK(sizes.entropy == doctest::Approx(mask));
  CHECK(sizes.entropy_given_base < 0.7 * sizes.entropy);
}

TEST_CASE("a tensor does not change what is measured of the next") {
  Dice dice(8);
  const Bytes before = RandomBytes(dice, 5000), after = RandomBytes(dice, 5000);
  PeerMeter fresh, used;
  used.AddBlock(after, before, Dtype::kU8);
  used.AddBlock({}, after, Dtype::kU8);
  used.FinishTensor();
  fresh.AddBlock(before, after, Dtype::kBF16);
  used.AddBlock(before, after, Dtype::kBF16);
  const PeerSizes a = fresh.FinishTensor(), b = used.FinishTensor();
  CHECK(a.raw == b.raw);
  CHECK(a.gaps == b.gaps);
  CHECK(a.xored == b.xored);
  CHECK(a.entropy == b.entropy);
  CHECK(a.entropy_given_base == b.entropy_given_base);
}

}  // namespace
}  // namespace wdelta
