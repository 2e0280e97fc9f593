#include "core/text.h"

#include <algorithm>
#include <charconv>

namespace wdelta {

namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

// The length in bytes of the valid sequence that `bytes` begins with and its code point; 0 if there is none. The bounds
// of the second byte (Unicode 15, table 3-7) are what keeps out overlong forms, surrogates and values over U+10FFFF.
size_t DecodeOne(ByteSpan bytes, uint32_t* code_point) {
  const uint8_t lead = bytes[0];
  if (lead < 0x80) {
    *code_point = lead;
    return 1;
  }
  const size_t length = lead >= 0xc2 && lead <= 0xdf   ? 2
                        : lead >= 0xe0 && lead <= 0xef ? 3
                        : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                       : 0;
  if (length == 0 || bytes.size() < length) return 0;
  const uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (bytes[1] < low || bytes[1] > high) return 0;
  uint32_t value = lead & (0x7fU >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((bytes[i] & 0xc0) != 0x80) return 0;
    value = value << 6 | (bytes[i] & 0x3fU);
  }
  *code_point = value;
  return length;
}

// Characters that a terminal obeys, or that a reader cannot see.
bool IsTreacherous(uint32_t c) {
  struct Range {
    uint32_t first, last;
  };
  static constexpr Range kRanges[] = {
      {0x00, 0x1f},        // C0 controls
      {0x7f, 0x9f},        // DEL and C1 controls
      {0xad, 0xad},        // soft hyphen
      {0x61c, 0x61c},      // Arabic letter mark
      {0x180e, 0x180e},    // Mongolian vowel separator
      {0x200b, 0x200f},    // zero width space, joiners, direction marks
      {0x2028, 0x202e},    // line and paragraph separator, bidirectional embeddings and overrides
      {0x2060, 0x206f},    // word joiner, invisible operators, bidirectional isolates, deprecated controls
      {0xfeff, 0xfeff},    // byte order mark, zero width no-break space
      {0xfff9, 0xfffb},    // interlinear annotation
      {0xe0000, 0xe007f},  // tags
  };
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [c](const Range& range) { return c >= range.first && c <= range.last; });
}

void AppendHex(uint32_t value, int digits, std::string* out) {
  for (int i = digits - 1; i >= 0; --i) *out += kHexDigits[value >> (4 * i) & 15];
}

}  // namespace

int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

void AppendUtf8(uint32_t c, std::string* out) {
  const auto put = [out](uint32_t byte) { *out += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xc0 | c >> 6);
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12), put(0x80 | (c >> 6 & 0x3f));
  } else {
    put(0xf0 | c >> 18), put(0x80 | (c >> 12 & 0x3f)), put(0x80 | (c >> 6 & 0x3f));
  }
  put(0x80 | (c & 0x3f));
}

size_t ValidUtf8Prefix(ByteSpan bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    // Headers are nearly all ASCII: eight bytes in one look.
    while (at + 8 <= bytes.size() && (Load<uint64_t>(bytes.data() + at) & 0x8080808080808080) == 0) at += 8;
    if (at == bytes.size()) break;
    uint32_t code_point;
    const size_t length = DecodeOne(bytes.subspan(at), &code_point);
    if (length == 0) return at;
    at += length;
  }
  return at;
}

void AppendJsonString(std::string_view text, std::string* out) {
  *out += '"';
  for (size_t at = 0; at < text.size();) {
    uint32_t c;
    const size_t length = DecodeOne(AsBytes(text.substr(at)), &c);
    if (length == 0) {
      *out += "\xef\xbf\xbd";
      ++at;
      continue;
    }
    if (c >= 0x20 && c != '"' && c != '\\') {
      out->append(text, at, length);
    } else if (const size_t escape = kJsonEscaped.find(text[at]); escape != std::string_view::npos) {
      *out += '\\';
      *out += kJsonEscapeLetters[escape];
    } else {
      *out += "\\u";
      AppendHex(c, 4, out);
    }
    at += length;
  }
  *out += '"';
}

std::string JsonString(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  AppendJsonString(text, &out);
  return out;
}

namespace {

// CI systems take orders from lines of a log that begin with "::", or hold "##[". Such a character is shown as an
// escape.
bool IsOrder(std::string_view text, size_t at) {
  return (at == 0 && text.starts_with("::")) || text.substr(at).starts_with("##[");
}

}  // namespace

std::string TerminalText(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    uint32_t c;
    const size_t length = DecodeOne(AsBytes(text.substr(at)), &c);
    if (length == 0) {
      out += "\\x";
      AppendHex(static_cast<uint8_t>(text[at++]), 2, &out);
      continue;
    }
    if (!IsTreacherous(c) && !IsOrder(text, at)) {
      out.append(text, at, length);
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += '\\';
      out += kJsonEscapeLetters[kJsonEscaped.find(text[at])];
    } else {
      out += c < 0x80 ? "\\x" : c < 0x10000 ? "\\u" : "\\U";
      AppendHex(c, c < 0x80 ? 2 : c < 0x10000 ? 4 : 8, &out);
    }
    at += length;
  }
  return out;
}

std::string Shorten(std::string_view text, size_t limit) {
  if (text.size() <= limit) return std::string(text);
  size_t end = limit;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

std::optional<uint64_t> WholeNumber(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace wdelta
