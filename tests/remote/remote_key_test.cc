#include "remote/remote_key.h"

#include "support/expect.h"

namespace wdelta {
namespace {

TEST_CASE("keys have parts of letters, digits, dots, hyphens and underscores") {
  for (const char* key : {"a", "0", "-", "_", "a.b", "a..b", "a/b", "records/000001.json", "a-b_c.d/e", "README.md"}) {
    INFO(key);
    CHECK(ValidKey(key));
    CHECK(ValidKeyPrefix(key));
    CHECK(CheckKey(key).ok());
  }
  for (const char* key : {"", "/", "/a", "a/", "a//b", ".", "..", ".a", "a/.b", "a/../b", "a b", "a%b", "a\\b", "a\x01",
                          "\xc3\xa4", "a:b", "a+b", "a\n"}) {
    INFO(key);
    CHECK_FALSE(ValidKey(key));
    CHECK_FAILS(CheckKey(key), ErrorKind::kRefused, "cannot be the key of an object");
  }
  CHECK_FALSE(ValidKey(std::string_view("a\0b", 3)));
}

TEST_CASE("a prefix is what a key can begin with") {
  CHECK(ValidKeyPrefix(""));
  CHECK(ValidKeyPrefix("a/"));
  CHECK_FALSE(ValidKeyPrefix("/"));
  CHECK_FALSE(ValidKeyPrefix("a//"));
  CHECK_FALSE(ValidKeyPrefix("a/."));
  CHECK_FAILS(CheckKeyPrefix("a:"), ErrorKind::kRefused, "cannot be the beginning of a key");
}

TEST_CASE("keys and their parts are no longer than stores and file systems allow") {
  CHECK(ValidKey(std::string(255, 'a')));
  CHECK_FALSE(ValidKey(std::string(256, 'a')));
  std::string key;
  while (key.size() < 1022) key += "a/";
  CHECK(ValidKey(key + "bc"));
  CHECK_FALSE(ValidKey(key + "bcd"));
}

TEST_CASE("a refused key cannot harm the terminal that shows it") {
  const auto result = CheckKey("a\x1b[31m");
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().message.find('\x1b') == std::string::npos);
}

}  // namespace
}  // namespace wdelta
