#include "core/text.h"

#include <doctest/doctest.h>

#include "wdelta.h"

namespace wdelta {
namespace {

TEST_CASE("the valid part of UTF-8 ends before the first bad sequence") {
  const auto valid = [](std::string_view text) { return ValidUtf8Prefix(AsBytes(text)); };
  CHECK(valid("") == 0);
  CHECK(valid("plain ASCII, longer than eight bytes") == 36);
  CHECK(valid("\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf") ==
        24);
  for (const char* bad : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x41", "\xe0\x9f\xbf", "\xe2\x82",
                          "\xe2\x82\x41", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf0\x9f\x98",
                          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xfe"}) {
    CHECK(valid(bad) == 0);
    CHECK(valid("12345678\xc3\xa9" + std::string(bad)) == 10);
    CHECK(valid("1234567" + std::string(bad)) == 7);
  }
}

TEST_CASE("a JSON string escapes what JSON forbids and nothing else") {
  CHECK(JsonString("") == "\"\"");
  CHECK(JsonString("a\"b\\c/") == R"("a\"b\\c/")");
  CHECK(JsonString("\b\f\n\r\t") == R"("\b\f\n\r\t")");
  CHECK(JsonString(std::string("\0\x01\x1f\x7f", 4)) == "\"\\u0000\\u0001\\u001f\x7f\"");
  CHECK(JsonString("\xc3\xa9\xf0\x9f\x98\x80") == "\"\xc3\xa9\xf0\x9f\x98\x80\"");
}

TEST_CASE("a JSON string has U+FFFD for each byte that is no UTF-8") {
  CHECK(JsonString("a\xff\x80z") == "\"a\xef\xbf\xbd\xef\xbf\xbdz\"");
  CHECK(JsonString("\xed\xa0\x80") == "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
  CHECK(JsonString("\xe2\x82") == "\"\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST_CASE("text for a terminal keeps what can be seen") {
  const std::string plain = "model.layers.0 (\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80) 'x' \\ ~";
  CHECK(TerminalText(plain) == plain);
}

TEST_CASE("text for a terminal shows what a terminal would obey or hide") {
  CHECK(TerminalText("\x1b[31mred\x07") == "\\x1b[31mred\\x07");
  CHECK(TerminalText(std::string("a\0b\x7f", 4)) == "a\\x00b\\x7f");
  CHECK(TerminalText("a\nb\rc\td") == "a\\nb\\rc\\td");
  CHECK(TerminalText("\xc2\x9b"
                     "31m") == "\\u009b31m");
  CHECK(TerminalText("\xe2\x80\xae") == "\\u202e");
  CHECK(TerminalText("\xe2\x81\xa6\xe2\x81\xa9") == "\\u2066\\u2069");
  CHECK(TerminalText("\xe2\x80\x8b\xe2\x80\x8d\xef\xbb\xbf\xc2\xad") == "\\u200b\\u200d\\ufeff\\u00ad");
  CHECK(TerminalText("\xe2\x80\xa8\xe2\x80\xa9") == "\\u2028\\u2029");
  CHECK(TerminalText("\xd8\x9c\xe2\x80\x8f") == "\\u061c\\u200f");
  CHECK(TerminalText("\xf3\xa0\x81\x81") == "\\U000e0041");
}

TEST_CASE("text for a terminal shows bytes that are no UTF-8") {
  CHECK(TerminalText("a\xff\xc3") == "a\\xff\\xc3");
  CHECK(TerminalText("\xc0\x9b") == "\\xc0\\x9b");
}

TEST_CASE("long text is cut between characters") {
  CHECK(Shorten("short", 5) == "short");
  CHECK(Shorten("longer", 5) == "longe...");
  CHECK(Shorten("abc\xe2\x82\xac"
                "def",
                4) == "abc...");
  CHECK(Shorten("abc\xe2\x82\xac"
                "def",
                6) == "abc\xe2\x82\xac...");
}

TEST_CASE("a CI system takes no orders from a name") {
  CHECK(TerminalText("::add-mask::secret") == "\\x3a:add-mask::secret");
  CHECK(TerminalText("a ##[group]") == "a \\x23#[group]");
  CHECK(TerminalText("a::b ## [c]") == "a::b ## [c]");
}

}  // namespace
}  // namespace wdelta
