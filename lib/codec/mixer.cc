#include "codec/mixer.h"

#include <algorithm>

namespace wdelta {

namespace {

constexpr int kPoints[33] = {22,    36,    60,    98,    162,   267,   439,   720,   1179,  1921,  3108,
                             4971,  7812,  11955, 17625, 24743, 32768, 40793, 47911, 53581, 57724, 60565,
                             62428, 63615, 64357, 64816, 65097, 65269, 65374, 65438, 65476, 65500, 65514};

constexpr int SquashByLines(int x) {
  const int point = (x >> 7) + 16, rest = x & 127;
  return (kPoints[point] * (128 - rest) + kPoints[point + 1] * rest + 64) >> 7;
}

constexpr std::array<int16_t, 4096> InvertSquash() {
  std::array<int16_t, 4096> table{};
  int x = -2047;
  for (int chance = 0; chance < 4096; ++chance) {
    while (x < 2047 && SquashByLines(x) >> 4 < chance) ++x;
    table[static_cast<size_t>(chance)] = static_cast<int16_t>(x);
  }
  return table;
}

constexpr std::array<int16_t, 4096> kStretch = InvertSquash();

}  // namespace

int Squash(int x) {
  return SquashByLines(x);
}

int Stretch(unsigned chance) {
  return kStretch[std::min(chance, 65535u) >> 4];
}

}  // namespace wdelta
