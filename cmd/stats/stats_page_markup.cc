#include "stats/stats_page_markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "markup.h"
#include "numbers.h"
#include "table.h"

namespace wdelta {

namespace {

constexpr size_t kLongestName = 4096;  // bytes that are looked at, at either end

// The ends of a name are enough: everything between them would be cut anyway, after more work.
std::string BothEnds(std::string_view text) {
  if (text.size() <= 2 * kLongestName) return std::string(text);
  return std::string(text.substr(0, kLongestName)) + std::string(text.substr(text.size() - kLongestName));
}

}  // namespace

std::string MarkupText(std::string_view text, size_t width) {
  return EscapeMarkup(ShortenMiddle(TerminalText(BothEnds(text)), width));
}

std::string NameMarkup(std::string_view name, size_t width) {
  std::string text = MarkupText(name, width);
  for (size_t at = text.find('.'); at != std::string::npos; at = text.find('.', at + 1)) text.insert(at + 1, "<wbr>");
  return text;
}

std::string FineShare(double share) {
  if (!(share > 0)) return "0 %";
  if (share >= 1) return share == 1 ? "100 %" : fmt::format("{:.0f} %", 100 * share);
  // Three digits of what is there, or of what is missing to the whole.
  const int for_part = 2 - static_cast<int>(std::floor(std::log10(100 * share)));
  const int for_rest = 2 - static_cast<int>(std::floor(std::log10(100 * (1 - share))));
  const int decimals = share > 0.9 ? for_rest : for_part;
  return fmt::format("{:.{}f} %", 100 * share, std::clamp(decimals, 0, 14));
}

std::string FineShare(uint64_t part, uint64_t whole) {
  return whole == 0 ? "-" : FineShare(PartOf(part, whole));
}

std::string ShortFigure(double number) {
  const double size = std::abs(number);
  if (size < 1e15 && number == std::trunc(number)) {
    return (number < 0 ? "\u2212" : "") + Grouped(static_cast<uint64_t>(size));
  }
  return (number < 0 ? "\u2212" : "") + fmt::format("{:.4g}", size);
}

std::string PowerOfTwo(int exponent) {
  static constexpr const char* kRaised[] = {"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                                            "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
  std::string text = exponent < 0 ? "2\u207b" : "2";
  for (const char digit : std::to_string(std::abs(exponent))) text += kRaised[digit - '0'];
  return text;
}

}  // namespace wdelta
