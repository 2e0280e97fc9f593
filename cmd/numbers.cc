#include "numbers.h"

#include <cmath>
#include <cstdio>

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

std::string Percent(uint64_t part, uint64_t whole) {
  if (whole == 0) return "-";
  if (part == 0) return "0 %";
  if (part == whole) return "100 %";
  const double share = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  char text[32];
  if (part > whole) {  // a delta may be larger than a tiny model
    std::snprintf(text, sizeof text, "%.0f %%", share);
    return text;
  }
  // One changed weight of a billion is not none, and all but one is not all.
  if (share < 0.01) return "<0.01 %";
  if (share > 99.99) return ">99.99 %";
  std::snprintf(text, sizeof text, "%.2f %%", share);
  return text;
}

std::string ByteSize(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

std::string ShapeText(const std::vector<uint64_t>& shape) {
  std::string text = "[";
  for (const uint64_t size : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(size);
  }
  return text + ']';
}

std::string ShortId(const std::string& hex) {
  return hex.empty() ? "?" : hex.substr(0, 12);
}

std::string Duration(double seconds) {
  const auto whole = static_cast<uint64_t>(std::lround(seconds < 0 ? 0 : seconds));
  char text[48];
  if (whole >= 3600) {
    std::snprintf(text, sizeof text, "%llu:%02llu:%02llu", static_cast<unsigned long long>(whole / 3600),
                  static_cast<unsigned long long>(whole / 60 % 60), static_cast<unsigned long long>(whole % 60));
  } else {
    std::snprintf(text, sizeof text, "%llu:%02llu", static_cast<unsigned long long>(whole / 60),
                  static_cast<unsigned long long>(whole % 60));
  }
  return text;
}

std::string TotalsText(const Totals& totals) {
  return Grouped(totals.elements_changed) + " of " + Counted(totals.elements_total, "element") + " changed (" +
         Percent(totals.elements_changed, totals.elements_total) + "), in " + Grouped(totals.tensors_changed) + " of " +
         Counted(totals.tensors_total, "tensor") + "; " + Grouped(totals.tensors_added) + " added, " +
         Grouped(totals.tensors_removed) + " removed; " + Counted(totals.files_changed, "other file") + " changed";
}

std::string StatesText(const Identity& base, const Identity& result) {
  return (base.state.empty() ? "" : ShortId(base.state) + " -> ") + ShortId(result.state);
}

}  // namespace wdelta
