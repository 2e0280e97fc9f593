#include "markup.h"

#include "table.h"
#include "wdelta.h"

namespace wdelta {

std::string EscapeMarkup(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string MarkupText(std::string_view text, size_t width) {
  // The ends of a name are enough: everything between them would be cut anyway, after more work.
  constexpr size_t kEnd = 4096;
  if (text.size() <= 2 * kEnd) return EscapeMarkup(ShortenMiddle(TerminalText(text), width));
  const std::string ends = std::string(text.substr(0, kEnd)) + std::string(text.substr(text.size() - kEnd));
  return EscapeMarkup(ShortenMiddle(TerminalText(ends), width));
}

std::string NameMarkup(std::string_view name, size_t width) {
  std::string text = MarkupText(name, width);
  for (size_t at = text.find('.'); at != std::string::npos; at = text.find('.', at + 1)) text.insert(at + 1, "<wbr>");
  return text;
}

}  // namespace wdelta
