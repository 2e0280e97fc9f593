#include "numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wdelta {

std::string Grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

std::string Counted(uint64_t number, std::string_view noun) {
  return Grouped(number) + ' ' + std::string(noun) + (number == 1 ? "" : "s");
}

double PartOf(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string Percent(uint64_t part, uint64_t whole, int digits) {
  if (whole == 0) return "-";
  if (part == 0) return "0 %";
  if (part == whole) return "100 %";
  const auto percent_of = [&](uint64_t count) {
    return 100.0 * static_cast<double>(count) / static_cast<double>(whole);
  };
  const double percent = percent_of(part);
  if (part > whole) return fmt::format("{:.0f} %", percent);  // a delta may be larger than a tiny model
  // One changed weight of a billion is not none, and all but one is not all. What is missing is counted, not taken from
  // 100: that difference would lose the digits that matter.
  const double missing = percent_of(whole - part);
  const double least = digits == 0 ? 0.01 : 1e-5;
  if (percent < least) return digits == 0 ? "<0.01 %" : fmt::format("{:.{}e} %", percent, digits - 1);
  if (missing < least) return digits == 0 ? ">99.99 %" : ">99.99999 %";
  const int zeros = static_cast<int>(-std::floor(std::log10(std::min(percent, missing))));
  return fmt::format("{:.{}f} %", percent, digits == 0 ? 2 : std::max(2, zeros + digits - 1));
}

std::pair<double, size_t> ScaledDown(double value, double step, double limit) {
  size_t times = 0;
  for (; value >= limit && times < 6; ++times) value /= step;
  return {value, times};
}

std::string ByteSize(uint64_t bytes) {
  const auto [value, unit] = ScaledDown(static_cast<double>(bytes), 1024, 1023.95);
  return fmt::format("{:.{}f} {}", value, unit == 0 ? 0 : 1, kByteUnits[unit]);
}

std::string ShapeText(const std::vector<uint64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string ShortId(const std::string& hex) {
  return hex.empty() ? "?" : hex.substr(0, 12);
}

std::string Duration(double seconds) {
  const auto whole = static_cast<uint64_t>(std::lround(seconds < 0 ? 0 : seconds));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string ChangedText(uint64_t changed, uint64_t total, std::string_view noun, int digits) {
  return Grouped(changed) + " of " + Counted(total, noun) + " changed (" + Percent(changed, total, digits) + ")";
}

std::string TotalsText(const Totals& totals, int digits) {
  return ChangedText(totals.elements_changed, totals.elements_total, "element", digits) + ", in " +
         Grouped(totals.tensors_changed) + " of " + Counted(totals.tensors_total, "tensor") + "; " +
         Grouped(totals.tensors_added) + " added, " + Grouped(totals.tensors_removed) + " removed; " +
         Counted(totals.files_changed, "other file") + " changed";
}

std::string StatesText(const Identity& base, const Identity& result) {
  return (base.state.empty() ? "" : ShortId(base.state) + " -> ") + ShortId(result.state);
}

std::string RecordName(const RecordInfo& record) {
  return fmt::format("record {}", record.number) + (record.step ? fmt::format(" (step {})", *record.step) : "");
}

}  // namespace wdelta
