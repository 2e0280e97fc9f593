#include "stats/stats_markdown_text.h"

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
  switch (c) {
    case ' ':
    case ',':
    case ';':
    case '%':
    case '\'':
    case '/':
    case '(':
    case '^':
      return true;
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
