#include "core/json.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "core/digest.h"

namespace wdelta {
namespace {

bool IsJson(std::string_view text) {
  JsonReader json(text);
  return json.Skip().ok() && json.End().ok();
}

std::string WhyNot(std::string_view text) {
  JsonReader json(text);
  const auto skipped = json.Skip();
  if (!skipped.ok()) return skipped.error().message;
  const auto end = json.End();
  return end.ok() ? "" : end.error().message;
}

TEST_CASE("a document is read token by token") {
  JsonReader json(R"( { "a" : [ 1 , 18446744073709551615 ] , "b\n" : "x\u20ac" , "c" : null , "d" : {} } )");
  REQUIRE(json.BeginObject().ok());
  CHECK(*json.NextKey() == "a");
  CHECK(json.KeyIsVerbatim());
  CHECK(*json.Peek() == JsonReader::Type::kArray);
  REQUIRE(json.BeginArray().ok());
  CHECK(*json.NextElement());
  CHECK(*json.UnsignedInteger() == 1);
  CHECK(*json.NextElement());
  CHECK(*json.UnsignedInteger() == UINT64_MAX);
  CHECK_FALSE(*json.NextElement());
  CHECK(*json.NextKey() == "b\n");
  CHECK_FALSE(json.KeyIsVerbatim());
  CHECK(*json.String() == "x\xe2\x82\xac");
  CHECK(*json.NextKey() == "c");
  CHECK(json.Null().ok());
  CHECK(*json.NextKey() == "d");
  REQUIRE(json.BeginObject().ok());
  CHECK_FALSE(json.NextKey()->has_value());
  CHECK_FALSE(json.NextKey()->has_value());
  CHECK(json.End().ok());
}

TEST_CASE("what RFC 8259 allows is skipped as a value") {
  for (const char* text :
       {"0", "-0", "-1.5e+10", "1E5", "\"\"", "\"\\u0000\\\"\"", "true", "false", "null", "[]", "{}",
        "[[],{},[1,\"2\",{\"a\":[null]}]]", " \t\r\n1 \t\r\n", "{\"\":{\"\":{}}}", "\"\\ud83d\\ude00\"",
        "1e-99999999999999999999", "0.1e308", "0e99999999999999999999", "123456789012345678901234567890"}) {
    CAPTURE(text);
    CHECK(IsJson(text));
  }
}

TEST_CASE("what RFC 8259 does not allow is refused") {
  for (const char* text : {"",
                           " ",
                           "[",
                           "]",
                           "{",
                           "}",
                           "[1",
                           "[1,",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{\"a\" 1}",
                           "{\"a\":1 \"b\":2}",
                           "[1}",
                           "{\"a\":1]",
                           "01",
                           "-",
                           "+1",
                           ".1",
                           "1.",
                           "1.e1",
                           "1e",
                           "1e+",
                           "0x1",
                           "1_0",
                           "nul",
                           "nulll",
                           "True",
                           "NaN",
                           "-Infinity",
                           "'a'",
                           "\"",
                           "\"\\",
                           "\"\\\"",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\u12g4\"",
                           "\"\\ud800\"",
                           "\"\\udc00\"",
                           "\"\\ud800\\u0020\"",
                           "\"\\ud800\\udbff\"",
                           "\"\t\"",
                           "\"\x1f\"",
                           "1 2",
                           "{}[]",
                           "/**/1",
                           "1//",
                           "\xef\xbb\xbf"
                           "1",
                           "\f1",
                           "[1]]"}) {
    CAPTURE(text);
    CHECK_FALSE(IsJson(text));
  }
}

TEST_CASE("a refusal says at which byte and why") {
  CHECK(WhyNot("[1,2,x]") == "byte 5: expected a value");
  CHECK(WhyNot("{\"a\":1,}") == "byte 7: expected a key in quotes");
  CHECK(WhyNot("[1") == "byte 2: ends too early");
  CHECK(WhyNot("{} x") == "byte 3: text after the end of the JSON value");
  CHECK(WhyNot(R"(["ab\ud800"])") == "byte 4: lone surrogate in a string");
  CHECK(WhyNot(R"([{"a":1,"\u0061":2}])") == "key 'a' occurs twice in one object");
}

TEST_CASE("integers are digits alone") {
  const auto read = [](std::string_view text) { return JsonReader(text).UnsignedInteger(); };
  CHECK(*read("0") == 0);
  CHECK(*read(" 42]") == 42);
  CHECK(*read("18446744073709551615") == UINT64_MAX);
  for (const char* text : {"", "-0", "-1", "1.0", "1e0", "1E0", "01", "00", "18446744073709551616",
                           "99999999999999999999", "184467440737095516150", "\"1\"", "null", "+1"}) {
    CAPTURE(text);
    CHECK_FALSE(read(text).ok());
  }
}

TEST_CASE("a number beyond the largest double is refused, one that is too small is not") {
  for (const char* text : {"1e309", "-1e309", "1.8e308", "0.18e309", "18e307", "1e999999999999999999999", "0.00001e314",
                           "179769313486231580794e288"}) {
    CAPTURE(text);
    CHECK(WhyNot(text) == "byte 0: number out of range");
  }
  for (const char* text : {"1e308", "1.7976931348623157e308", "17976931348623157e292", "0.1e309", "0.00001e313",
                           "1e-400", "0.0e999", "-0e400", "0.000e-999"}) {
    CAPTURE(text);
    CHECK(IsJson(text));
  }
  CHECK(IsJson(std::string(308, '9')));
  CHECK(IsJson("1" + std::string(308, '0')));
  CHECK_FALSE(IsJson("2" + std::string(308, '0')));
  CHECK_FALSE(IsJson(std::string(310, '9')));
  CHECK(IsJson(std::string(1000, '9') + "e-800"));
  CHECK(IsJson("0." + std::string(1000, '0') + "1e1300"));
  CHECK_FALSE(IsJson("0." + std::string(1000, '0') + "1e1320"));
}

TEST_CASE("nesting is allowed to a depth of 127, whatever the brackets") {
  const auto arrays = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK(IsJson(arrays(127)));
  CHECK_FALSE(IsJson(arrays(128)));
  CHECK(WhyNot(std::string(1000000, '[')) == "byte 127: nested more than 127 deep");
  CHECK(IsJson("[" + arrays(126) + "," + arrays(126) + "]"));
  const std::string too_deep = arrays(128);
  JsonReader json(too_deep);
  for (unsigned i = 0; i < JsonReader::kMaxDepth; ++i) REQUIRE(json.BeginArray().ok());
  CHECK_FALSE(json.BeginArray().ok());
}

TEST_CASE("strings with and without escapes of any length are found to their end") {
  for (size_t length = 0; length < 40; ++length) {
    const std::string plain(length, 'x');
    for (const char* tail : {"", "\\n", "\\\\", "\\\"", "\\\\\\\""}) {
      const std::string text = "\"" + plain + tail + "\"";
      JsonReader json(text);
      const auto value = json.String();
      REQUIRE(value.ok());
      CHECK(value->substr(0, length) == plain);
      CHECK(value->size() == length + std::string_view(tail).size() / 2);
      CHECK(json.position() == text.size());
    }
    for (const char control : {'\x01', '\n', '\x1f', '\0'}) CHECK_FALSE(IsJson("\"" + plain + control + plain + "\""));
    CHECK(IsJson("\"" + plain + "\x7f\xc2\xa0" + plain + "\""));
  }
}

TEST_CASE("a key that an object has twice is refused by name at every level") {
  for (const char* text : {R"({"a":1,"a":1})", R"([{"x":[{"b":1,"a":{},"a":{}}]}])",
                           R"({"b":{"a":1,"c":2,"\u0061":3}})", R"({"a":{"a":{"a":1}},"c":[],"a":2})"}) {
    JsonReader json(text);
    CHECK_FALSE(json.Skip().ok());
    REQUIRE(json.repeated_key().has_value());
    CHECK(*json.repeated_key() == "a");
  }
  CHECK(IsJson(R"([{"a":1},{"a":{"a":[{"a":1},{"a":1}]}}])"));
}

TEST_CASE("a repeated key is found among few, many and very many") {
  for (const size_t count : {2, 8, 9, 100, 512, 513, 5000, 70000, 300000}) {
    std::string text = "{";
    for (size_t i = 0; i < count; ++i) text += "\"k" + std::to_string(i) + "\":0,";
    CAPTURE(count);
    CHECK(IsJson(text + "\"k\":0}"));
    const size_t repeated = count / 2;
    JsonReader json(text += "\"k" + std::to_string(repeated) + "\":0}");
    CHECK_FALSE(json.Skip().ok());
    CHECK(json.repeated_key() == "k" + std::to_string(repeated));
  }
}

TEST_CASE("repeated values are found whichever bits the others share") {
  std::mt19937_64 random(3);
  for (const uint64_t mask : {UINT64_MAX, uint64_t{0xfffff}, uint64_t{0xfffff} << 44, uint64_t{0xfffff} << 20}) {
    std::set<uint64_t> distinct;
    while (distinct.size() < 200000) distinct.insert(random() & mask);
    std::vector<uint64_t> values(distinct.begin(), distinct.end());
    std::shuffle(values.begin(), values.end(), random);
    std::vector<uint64_t> copy = values;
    CHECK_FALSE(FindRepeated(copy).has_value());
    const uint64_t repeated = values[random() % values.size()];
    values.insert(values.begin() + static_cast<ptrdiff_t>(random() % values.size()), repeated);
    CHECK(FindRepeated(values) == repeated);
  }
  std::vector<uint64_t> same(100000, 7);
  CHECK(FindRepeated(same) == 7);
  std::vector<uint64_t> zeros(2);
  CHECK(FindRepeated(zeros) == 0);
}

TEST_CASE("keys added one by one are compared by their text") {
  DuplicateKeys keys;
  for (int i = 0; i < 1000; ++i) keys.Add("key" + std::to_string(i));
  DuplicateKeys more = keys;
  CHECK_FALSE(keys.Any());
  more.Add("key500");
  CHECK(more.Any());
}

TEST_CASE("a value of another type than asked for is refused") {
  CHECK_FALSE(JsonReader("[]").BeginObject().ok());
  CHECK_FALSE(JsonReader("{}").BeginArray().ok());
  CHECK_FALSE(JsonReader("1").String().ok());
  CHECK_FALSE(JsonReader("\"1\"").UnsignedInteger().ok());
  CHECK_FALSE(JsonReader("0").Null().ok());
  CHECK_FALSE(JsonReader("x").Peek().ok());
  CHECK(*JsonReader(" ").Peek() == JsonReader::Type::kEnd);
}

}  // namespace
}  // namespace wdelta
