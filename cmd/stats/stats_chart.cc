#include "stats/stats_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "markup.h"
#include "numbers.h"
#include "table.h"

namespace wdelta {

namespace {

constexpr double kRoundSteps[] = {1, 2, 5};
constexpr double kSmallestSpan = 10, kLargestSpan = 1e6;
constexpr double kSlack = 1e-9;  // 0.05 is not below 5 * 10^-2, whatever the last bit says

constexpr double kWidth = 520, kLeft = 66, kRight = 512;  // of the picture, and of the plots in it
constexpr double kTitleRoom = 28, kBetweenPlots = 16, kAxisRoom = 42;
constexpr double kZeroRoom = 18;  // between the lowest share and zero, for which a logarithm has no place
constexpr size_t kLongestTooltip = 400;

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

std::string TextAt(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, MarkupText(text));
}

std::string LineAcross(const char* style, double y) {
  return fmt::format("<path class=\"{}\" d=\"M{} {:.1f}H{}\"/>\n", style, kLeft, y, kRight);
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
      // An end that is not a power of ten keeps its mark, and a neighbour too near to it gives way.
      const bool clear = tick > low * (only_tens ? 3 : 1.01) && tick < high / (only_tens ? 3 : 1.01);
      if (clear && (!only_tens || step == 1)) ticks.push_back(tick);
    }
  }
  ticks.push_back(high);
  return ticks;
}

LogScale LogScaleAround(const std::vector<double>& shares) {
  double least = 2, most = 0;
  for (const double share : shares) {
    if (!(share > 0)) continue;
    least = std::min({least, share, 1.0});
    most = std::max(most, std::min(share, 1.0));
  }
  if (most == 0) return {};
  LogScale scale{RoundBelow(least), std::min(1.0, RoundAbove(most))};
  scale.low = std::max(scale.low, RoundBelow(scale.high / kLargestSpan));
  if (scale.high / scale.low < kSmallestSpan) {
    // Widened to both sides, so that the values stay in the middle.
    scale.high = std::min(1.0, RoundAbove(scale.high * 1.5));
    scale.low = std::min(scale.low, RoundBelow(scale.high / kSmallestSpan));
  }
  return scale;
}

Ticks ByteTicks(uint64_t most) {
  const auto [value, power] = ScaledDown(static_cast<double>(std::max<uint64_t>(most, 1)), 1024, 1024);
  const double unit = std::pow(1024, power);
  // A quarter of the largest, rounded up, gives three to five lines; there is no half byte.
  const double step = std::max(RoundAbove(value / 4), power == 0 ? 1.0 : 0.0);
  Ticks ticks;
  for (double count = step;; count += step) {
    ticks.emplace_back(count * unit, fmt::format("{:.4g} {}", count, kByteUnits[power]));
    if (count >= value * (1 - kSlack)) return ticks;
  }
}

double Chart::SlotWidth() const {
  return (kRight - kLeft) / static_cast<double>(slots_.size());
}

double Chart::MiddleOf(size_t slot) const {
  return kLeft + (static_cast<double>(slot) + 0.5) * SlotWidth();
}

void Chart::BeginPlot(const std::string& title, double height) {
  const double begin = body_.empty() ? 0 : bottom_ + kBetweenPlots;
  body_ += fmt::format("<text class=\"strong\" x=\"0\" y=\"{:.1f}\">{}</text>\n", begin + 12, MarkupText(title));
  top_ = begin + kTitleRoom;
  bottom_ = top_ + height;
}

void Chart::GridLine(double y, const std::string& value) {
  body_ += LineAcross("grid", y) + TextAt(kLeft - 8, y + 4, "end", value);
}

void Chart::EndPlot() {
  body_ += LineAcross("base", bottom_) + TextAt(kLeft - 8, bottom_ + 4, "end", "0");
}

void Chart::AddShares(const std::string& title, double height) {
  BeginPlot(title, height);
  std::vector<double> shares;
  for (const ChartSlot& slot : slots_) shares.push_back(slot.share.value_or(0));
  const LogScale scale = LogScaleAround(shares);
  const double lowest = bottom_ - kZeroRoom;
  const auto y_of = [&](double share) {
    return share > 0 ? lowest - scale.Position(share) * (lowest - top_) : bottom_;
  };
  for (const double tick : scale.Ticks()) GridLine(y_of(tick), fmt::format("{:.6g} %", 100 * tick));
  EndPlot();
  // The line stops where there is no share or none above zero: a logarithm cannot lead through zero.
  std::string line, dots;
  bool is_drawing = false;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const ChartSlot& slot = slots_[i];
    const bool is_zero = slot.share && *slot.share <= 0;
    if (slot.share) {
      dots += fmt::format(R"(<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"/>)", is_zero ? "zero" : "dot",
                          MiddleOf(i), y_of(*slot.share), std::clamp(SlotWidth() / 3, 0.8, 3.0));
    }
    const bool has_point = slot.share && !is_zero;
    if (has_point) {
      const char* step = is_drawing && slot.is_joined ? "L" : "M";
      line += fmt::format("{}{:.1f} {:.1f}", step, MiddleOf(i), y_of(*slot.share));
    }
    is_drawing = has_point && slot.is_joined;
  }
  if (!line.empty()) body_ += "<path class=\"line\" d=\"" + line + "\"/>\n";
  body_ += dots + '\n';
}

void Chart::AddAmounts(const std::string& title, const Ticks& ticks, double height) {
  BeginPlot(title, height);
  const auto y_of = [&](double amount) { return bottom_ - (bottom_ - top_) * amount / ticks.back().first; };
  for (const auto& [value, name] : ticks) GridLine(y_of(value), name);
  EndPlot();
  const double width = std::min(28.0, SlotWidth() > 4 ? SlotWidth() * 0.8 : SlotWidth());
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].amount <= 0) continue;
    const double y = y_of(slots_[i].amount);
    body_ += fmt::format("<rect class=\"column\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"/>\n",
                         MiddleOf(i) - width / 2, y, width, bottom_ - y);
  }
}

std::string Chart::Svg(const std::string& axis) const {
  // The slots that can be pointed at are drawn last, above everything that they explain.
  std::string body = body_;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const ChartSlot& slot = slots_[i];
    if (slot.is_marked) {
      body += fmt::format("<path class=\"anchor\" d=\"M{:.1f} {}l3.5 6h-7z\"/>\n", MiddleOf(i), bottom_ + 1);
    }
    if (!slot.name.empty()) {
      // A path at either end would reach over the edge.
      const bool is_long = DisplayWidth(slot.name) > 5 && slots_.size() > 1;
      const char* anchor = is_long && i == 0 ? "start" : is_long && i + 1 == slots_.size() ? "end" : "middle";
      body += TextAt(MiddleOf(i), bottom_ + 18, anchor, slot.name);
    }
    body += fmt::format(
        "<rect class=\"hover\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\"><title>{}</title></rect>\n",
        MiddleOf(i) - SlotWidth() / 2, kTitleRoom, SlotWidth(), bottom_ - kTitleRoom,
        MarkupText(slot.tooltip, kLongestTooltip));
  }
  body += TextAt((kLeft + kRight) / 2, bottom_ + kAxisRoom - 6, "middle", axis);
  return fmt::format("<svg class=\"chart\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {} {}\">\n{}</svg>\n",
                     MarkupText(label_), kWidth, bottom_ + kAxisRoom, body);
}

}  // namespace wdelta
