#include "markup.h"

#include <algorithm>
#include <utility>

#include "table.h"
#include "wdelta.h"

namespace wdelta {

namespace {

constexpr size_t kLongestName = 200, kLongestSentence = 1000;

bool IsAsciiLetterOrDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool IsLetterOrDigit(char c) {
  return static_cast<unsigned char>(c) >= 0x80 || IsAsciiLetterOrDigit(c);
}

// Whether a mark in a sentence means nothing where it stands: these can only open a list or a link.
bool IsPlainAfter(const std::string& before, char c, char next) {
  if (std::string_view(" ,;%'/(^").find(c) != std::string_view::npos) return true;
  switch (c) {
    case '_':  // within a word; other letters than these may be spaces or marks to Markdown
      return !before.empty() && IsAsciiLetterOrDigit(before.back()) && IsAsciiLetterOrDigit(next);
    case '-':
      return !before.empty();
    case ')':
      return before.find_first_not_of("0123456789") != std::string::npos;  // "1) "
    case '.':
      return before.find_first_not_of("0123456789") != std::string::npos && before.back() != 'w' &&
             before.back() != 'W';  // "1. ", "www."
    case ':':
      return next != '/';  // "https://"
    default:
      return false;
  }
}

}  // namespace

std::string EscapeMarkup(std::string_view text) {
  static constexpr std::pair<char, std::string_view> kEscapes[] = {
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
  std::string escaped;
  for (const char c : text) {
    const auto* escape =
        std::find_if(std::begin(kEscapes), std::end(kEscapes), [&](auto& row) { return row.first == c; });
    escaped += escape == std::end(kEscapes) ? std::string_view(&c, 1) : escape->second;
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

std::string MarkdownName(std::string_view name) {
  std::string span = "`";
  for (const char c : ShortenMiddle(TerminalText(name), kLongestName)) {
    if (c == '`') {
      span += "\\x60";
    } else if (c == '|') {
      span += "\\x7c";
    } else {
      span += c;
    }
  }
  if (span.size() == 1) span += ' ';  // two backticks alone would open a span of their own
  return span + '`';
}

std::string MarkdownSentence(std::string_view sentence) {
  const std::string safe = ShortenMiddle(TerminalText(sentence), kLongestSentence);
  std::string text;
  for (size_t i = safe.find_first_not_of(' '); i < safe.size(); ++i) {  // four spaces in front would make it code
    const char c = safe[i];
    if (c == '@' || c == '#') {
      text += std::string("`") + c + '`';
    } else if (c == '`' || c == '|') {
      text += c == '`' ? "\\\\x60" : "\\\\x7c";  // neither may come near the code spans above, nor end a cell
    } else {
      const char next = i + 1 < safe.size() ? safe[i + 1] : ' ';
      if (!IsLetterOrDigit(c) && !IsPlainAfter(text, c, next)) text += '\\';
      text += c;
    }
  }
  return text;
}

std::string MarkdownTag(std::string_view text) {
  std::string tag;
  for (const char c : ShortenMiddle(TerminalText(text), kLongestName)) {
    tag += IsLetterOrDigit(c) || c == ' ' || c == ',' ? std::string(1, c) : "&#" + std::to_string(int{c}) + ';';
  }
  return tag;
}

}  // namespace wdelta
