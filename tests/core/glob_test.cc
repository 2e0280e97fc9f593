#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "core/path.h"

namespace wdelta {
namespace {

TEST_CASE("a pattern without wildcards matches itself alone") {
  CHECK(GlobMatch("config.json", "config.json"));
  CHECK(GlobMatch("", ""));
  CHECK_FALSE(GlobMatch("config.json", "config.jsonl"));
  CHECK_FALSE(GlobMatch("config.json", "a/config.json"));
  CHECK_FALSE(GlobMatch("", "a"));
  CHECK_FALSE(GlobMatch("a", ""));
  CHECK(GlobMatch("[a]", "[a]"));  // no character classes
  CHECK_FALSE(GlobMatch("[a]", "a"));
}

TEST_CASE("a star stands for any run of characters, slashes included") {
  CHECK(GlobMatch("*.json", "a/b/config.json"));
  CHECK(GlobMatch("*", ""));
  CHECK(GlobMatch("a*b*c", "axxbxbxc"));
  CHECK(GlobMatch("a*", "a"));
  CHECK(GlobMatch("**", "anything"));
  CHECK(GlobMatch("*aab", "aaab"));  // the star has to take one more
  CHECK_FALSE(GlobMatch("a*b", "abc"));
}

TEST_CASE("a question mark stands for exactly one character") {
  CHECK(GlobMatch("rng_state_?.pth", "rng_state_0.pth"));
  CHECK_FALSE(GlobMatch("rng_state_?.pth", "rng_state_.pth"));
  CHECK_FALSE(GlobMatch("rng_state_?.pth", "rng_state_10.pth"));
}

TEST_CASE("many stars against a long text that does not match take no time") {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "a*";
  const auto begin = std::chrono::steady_clock::now();
  CHECK_FALSE(GlobMatch(pattern + "b", std::string(20000, 'a')));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));
}

}  // namespace
}  // namespace wdelta
