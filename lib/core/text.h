// Text as UTF-8: what is valid, and how it is written where a raw byte could do harm.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/bytes.h"

namespace wdelta {

// How many bytes at the start of `bytes` are valid UTF-8: all of them, or up to the first sequence that is overlong,
// cut short, a surrogate, above U+10FFFF, or no sequence at all.
size_t ValidUtf8Prefix(ByteSpan bytes);

// These two belong to the public face: wdelta.h declares them as well, in the same words, and says what they do. The
// attribute is here too because this is the header that their definition sees.
__attribute__((visibility("default"))) std::string JsonString(std::string_view text);
__attribute__((visibility("default"))) std::string TerminalText(std::string_view text);

inline bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
// The value of a hexadecimal digit in either case; -1 for anything else.
int HexDigit(char c);
// `text` with the letters A to Z in lower case.
std::string Lower(std::string_view text);
// Appends a code point as UTF-8.
void AppendUtf8(uint32_t code_point, std::string* out);

// The characters that JSON escapes with a backslash and a letter, and those letters.
inline constexpr std::string_view kJsonEscaped = "\"\\\b\f\n\r\t/", kJsonEscapeLetters = "\"\\bfnrt/";

// Appends `text` as a JSON string literal, quotes included; bytes that are no UTF-8 become U+FFFD.
void AppendJsonString(std::string_view text, std::string* out);

// The number that `text` is: decimal digits and nothing else.
std::optional<uint64_t> WholeNumber(std::string_view text);

// `text`, or its beginning and "..." when it is longer than `limit` bytes; never cuts through a character. A name in a
// hostile file may have 100 MB, and a message shall not.
std::string Shorten(std::string_view text, size_t limit = 200);

}  // namespace wdelta
