#include "stats/stats_page_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wdelta {

namespace {

constexpr double kRoundSteps[] = {1, 2, 5};
constexpr double kSmallestSpan = 10, kLargestSpan = 1e6;
constexpr double kSlack = 1e-9;  // 0.05 is not below 5 * 10^-2, whatever the last bit says

// Written with a division for small powers, which is exact to the last digit: 5 / 100, not 5 * 0.01000...002.
double Round(double step, int power) {
  return power < 0 ? step / std::pow(10, -power) : step * std::pow(10, power);
}

double RoundBelow(double value) {
  const int power = static_cast<int>(std::floor(std::log10(value) + kSlack));
  double best = Round(1, power);
  for (const double step : kRoundSteps) {
    if (Round(step, power) <= value * (1 + kSlack)) best = Round(step, power);
  }
  return best;
}

double RoundAbove(double value) {
  const int power = static_cast<int>(std::floor(std::log10(value) + kSlack));
  for (const double step : kRoundSteps) {
    if (Round(step, power) >= value * (1 - kSlack)) return Round(step, power);
  }
  return Round(1, power + 1);
}

}  // namespace

double LogScale::Position(double value) const {
  if (!(value > low)) return 0;
  return std::min(1.0, std::log(value / low) / std::log(high / low));
}

std::vector<double> LogScale::Ticks() const {
  const bool only_tens = high / low > 300;
  std::vector<double> ticks = {low};
  for (int power = static_cast<int>(std::floor(std::log10(low))); power <= 0; ++power) {
    for (const double step : kRoundSteps) {
      const double tick = Round(step, power);
      // An end that is no power of ten keeps its mark, and a neighbour too near to it gives way.
      const bool clear = tick > low * (only_tens ? 3 : 1.01) && tick < high / (only_tens ? 3 : 1.01);
      if (clear && (!only_tens || step == 1)) ticks.push_back(tick);
    }
  }
  ticks.push_back(high);
  return ticks;
}

LogScale LogScaleAround(double least, double most) {
  LogScale scale{RoundBelow(least), std::min(1.0, RoundAbove(most))};
  scale.low = std::max(scale.low, RoundBelow(scale.high / kLargestSpan));
  if (scale.high / scale.low < kSmallestSpan) {
    // Widened to both sides, so that the values stay in the middle.
    scale.high = std::min(1.0, RoundAbove(scale.high * 1.5));
    scale.low = std::min(scale.low, RoundBelow(scale.high / kSmallestSpan));
  }
  return scale;
}

ByteScale ByteScaleUpTo(uint64_t most) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  const auto value = static_cast<double>(std::max<uint64_t>(most, 1));
  double unit = 1;
  size_t name = 0;
  for (; value / unit >= 1024; ++name) unit *= 1024;
  // Three to five lines; there is no half byte.
  const double step = std::max(RoundAbove(value / unit / 4), unit == 1 ? 1.0 : 0.0);
  ByteScale scale;
  for (double count = 0;; count += step) {
    scale.ticks.emplace_back(count * unit, fmt::format("{:.4g} {}", count, kUnits[name]));
    if (count * unit >= value * (1 - kSlack)) break;
  }
  scale.high = scale.ticks.back().first;
  return scale;
}

}  // namespace wdelta
