// Several opinions about one bit, weighed by how well each did so far. Opinions are added up in the logistic domain,
// where doubt weighs little and certainty much. All integers, as in adaptive_bit.h.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "core/bytes.h"

namespace wdelta {

// 65536 / (1 + e^(-x / 256)) for -2047 <= x <= 2047, by straight lines between points that lie 128 apart.
int Squash(int x);
// The other way: the smallest x whose Squash(x), in 1/4096, is at least the chance, given in 1/65536.
int Stretch(unsigned chance);

template <size_t kInputs>
class Mixer {
 public:
  Mixer() { weights_.fill(65536 * 4 / 10); }

  // The chance of a one, in 1/65536, when the inputs have these.
  unsigned Mix(const std::array<unsigned, kInputs>& chances) {
    int64_t sum = 0;
    for (size_t i = 0; i < kInputs; ++i) {
      inputs_[i] = Stretch(chances[i]);
      sum += int64_t{weights_[i]} * inputs_[i];
    }
    const auto x = static_cast<int>(std::clamp<int64_t>(sum >> 16, -2047, 2047));
    chance_ = std::clamp(Squash(x), 64, 65472);
    return static_cast<unsigned>(chance_);
  }
  // What the bit was for which Mix was called last.
  void Learn(bool bit) {
    const int error = (bit ? 65535 : 0) - chance_;
    for (size_t i = 0; i < kInputs; ++i) {
      weights_[i] += static_cast<int>((int64_t{inputs_[i]} * error + 8192) >> 14);
    }
  }

 private:
  std::array<int, kInputs> weights_;  // in 1/65536
  std::array<int, kInputs> inputs_{};
  int chance_ = 32768;
};

}  // namespace wdelta
