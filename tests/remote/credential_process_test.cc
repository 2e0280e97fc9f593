#include "remote/credential_process.h"

#include <chrono>

#include "support/expect.h"

namespace wdelta {
namespace {

using Words = std::vector<std::string>;

const Environment kEnvironment = ProcessEnvironment();

TEST_CASE("a command is split as a shell splits it, with quotes and backslashes and nothing else") {
  CHECK(*SplitCommand("a b  c") == Words{"a", "b", "c"});
  CHECK(*SplitCommand("  /opt/my\\ tool --x='a b' \"c \\\"d\\\" \\e\" '' ") ==
        Words{"/opt/my tool", "--x=a b", "c \"d\" \\e", ""});
  CHECK(*SplitCommand("a $HOME *;b|c 'it'\"'\"'s'") == Words{"a", "$HOME", "*;b|c", "it's"});
  CHECK(*SplitCommand("'a\\b'") == Words{"a\\b"});
  CHECK_FALSE(SplitCommand(""));
  CHECK_FALSE(SplitCommand("  "));
  CHECK_FALSE(SplitCommand("a 'b"));
  CHECK_FALSE(SplitCommand("a \"b"));
  CHECK_FALSE(SplitCommand("a\\"));
}

TEST_CASE("a program runs without a shell and without standard input, and its output is what counts") {
  const auto output = RunForOutput({"printf", "%s", "a $HOME b"}, 100, 60, kEnvironment, {});
  REQUIRE_OK(output);
  CHECK(AsText(*output) == "a $HOME b");
  const auto nothing = RunForOutput({"cat"}, 100, 60, kEnvironment, {});
  REQUIRE_OK(nothing);
  CHECK(nothing->empty());
}

TEST_CASE("a program that fails, prints too much or never ends is an error without its words") {
  CHECK_FAILS(RunForOutput({"/nowhere/secret"}, 100, 60, kEnvironment, {}), ErrorKind::kDenied,
              "cannot be started: No such file");
  CHECK_FAILS(RunForOutput({"sh", "-c", "exit 3 # secret"}, 100, 60, kEnvironment, {}), ErrorKind::kDenied,
              "failed with status 3");
  CHECK_FAILS(RunForOutput({"sh", "-c", "kill -9 $$"}, 100, 60, kEnvironment, {}), ErrorKind::kDenied, "signal 9");
  CHECK_FAILS(RunForOutput({"sh", "-c", "echo 12345"}, 5, 60, kEnvironment, {}), ErrorKind::kDenied,
              "more than 5 bytes");
  const auto begin = std::chrono::steady_clock::now();
  CHECK_FAILS(RunForOutput({"sleep", "1000"}, 5, 0.05, kEnvironment, {}), ErrorKind::kDenied, "took longer");
  CHECK_FAILS(RunForOutput({"sh", "-c", "exec >&-; exec sleep 1000"}, 5, 0.05, kEnvironment, {}), ErrorKind::kDenied,
              "took longer");
  CHECK_FAILS(RunForOutput({"yes"}, 1 << 20, 60, kEnvironment, {}), ErrorKind::kDenied, "more than 1048576 bytes");
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
  CHECK(RunForOutput({"/nowhere/secret"}, 100, 60, kEnvironment, {}).error().message.find("secret") ==
        std::string::npos);
}

TEST_CASE("a program sees the variables that it is given, and no others") {
  const Environment given({{"A", "1"}, {"B", "two words"}});
  const auto output = RunForOutput({"/usr/bin/env"}, 1000, 60, given, {});
  REQUIRE_OK(output);
  CHECK(AsText(*output) == "A=1\nB=two words\n");
}

}  // namespace
}  // namespace wdelta
