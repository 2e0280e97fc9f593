#include "canonical/version.h"

#include <cstdio>

#include "support/expect.h"
#include "support/random_checkpoint.h"

namespace wdelta {

TEST_CASE("a version is called by six digits, and by more when there are more") {
  CHECK(VersionName(0) == "000000");
  CHECK(VersionName(12) == "000012");
  CHECK(VersionName(999'999) == "999999");
  CHECK(VersionName(1'234'567) == "1234567");
  CHECK(VersionFolder(12) == "weight_v000012");
}

TEST_CASE("a name is read back as the number that it was made from") {
  for (const uint64_t version : {uint64_t{0}, uint64_t{1}, uint64_t{999'999}, uint64_t{1'000'000}, kMaxVersion}) {
    CHECK(VersionNumber(VersionName(version)) == version);
    CHECK(VersionOfFolder(VersionFolder(version)) == version);
  }
  CHECK(VersionNumber("7") == 7);  // others may write fewer digits
  CHECK(VersionNumber("0000000007") == 7);
}

TEST_CASE("what is no number of a version is none") {
  for (const char* name : {"", " ", "x", "-1", "+1", "1 ", " 1", "1.0", "0x10", "1e3", "1000000000000",
                           "99999999999999999999999", "\xff"}) {
    CAPTURE(name);
    CHECK_FALSE(VersionNumber(name));
  }
}

TEST_CASE("a folder has just one name, so that no version is there twice") {
  for (const char* name : {"", "weight_v", "weight_v1", "weight_v0000001", "weight_v00001x", "weight_v000001/",
                           "Weight_v000001", "weight_v-00001", "xweight_v000001", "000001"}) {
    CAPTURE(name);
    CHECK_FALSE(VersionOfFolder(name));
  }
}

TEST_CASE("a pointer is read as it was written") {
  for (const VersionPointer& pointer : {VersionPointer{"run7", 12}, VersionPointer{"", 1}, VersionPointer{"a-b_c.d", 0},
                                        VersionPointer{"x", kMaxVersion}}) {
    const Result<VersionPointer> read = ParsePointer(PointerText(pointer));
    REQUIRE_OK(read);
    CHECK(*read == pointer);
  }
  CHECK(PointerText({"run7", 12}) == "run7/weight_v000012");
  CHECK(PointerText({"", 12}) == "weight_v000012");
}

TEST_CASE("a pointer that another program wrote may have white space around it, fewer digits, and slashes in its run") {
  const auto parsed = [](std::string_view text) {
    const Result<VersionPointer> pointer = ParsePointer(text);
    REQUIRE_OK(pointer);
    return *pointer;
  };
  CHECK(parsed("run7/weight_v000012\n") == VersionPointer{"run7", 12});
  CHECK(parsed(" \t\r\n run7/weight_v000012 \r\n") == VersionPointer{"run7", 12});
  CHECK(parsed("weight_v12") == VersionPointer{"", 12});
  CHECK(parsed("000012") == VersionPointer{"", 12});
  CHECK(parsed("run7/12") == VersionPointer{"run7", 12});
  CHECK(parsed("team/run7/weight_v000012") == VersionPointer{"team/run7", 12});
}

TEST_CASE("a pointer that cannot be read is refused, and never taken for version 0") {
  for (const std::string_view text :
       {std::string_view(""), std::string_view(" \n"), std::string_view("run7/"), std::string_view("/"),
        std::string_view("weight_v"), std::string_view("run7/weight_v"), std::string_view("run7/weight_v-1"),
        std::string_view("run7/weight_v1x"), std::string_view("run 7/weight_v000001"),
        std::string_view("run7/weight_v000001 000002"), std::string_view("run7\n/weight_v000001"),
        std::string_view("r\xc3\xbcn/weight_v000001"), std::string_view("run7/weight_v1000000000000"),
        std::string_view("run7/weight_v000001/"), std::string_view("\0\0\0", 3),
        std::string_view("run\0/weight_v000001", 19), std::string_view("{\"version\": \"000001\"}")}) {
    CAPTURE(text);
    CHECK_FAILS(ParsePointer(text), ErrorKind::kIntegrity, "names no version");
  }
}

TEST_CASE("what is said about a pointer that cannot be read is short, and harmless in a terminal") {
  const Result<VersionPointer> pointer = ParsePointer("\x1b[2J" + std::string(4000, 'x'));
  REQUIRE_FALSE(pointer.ok());
  CHECK(pointer.error().message.size() < 300);
  CHECK(pointer.error().message.find('\x1b') == std::string::npos);
}

TEST_CASE("a run's name is what a pointer can hold and others can read back") {
  for (const char* run : {"run7", "a", "2026-11-16_b.c", "x=1,y=2", "weight_v000001"}) {
    REQUIRE_OK(CheckRunName(run));
    const Result<VersionPointer> pointer = ParsePointer(PointerText({run, 3}));
    REQUIRE_OK(pointer);
    CHECK(*pointer == VersionPointer{run, 3});
  }
  REQUIRE_OK(CheckRunName(std::string(200, 'x')));
  for (const std::string& run : {std::string(), std::string("a/b"), std::string("a b"), std::string("a\n"),
                                 std::string("\xc3\xbc"), std::string("a\0b", 3), std::string(201, 'x')}) {
    CHECK_FAILS(CheckRunName(run), ErrorKind::kUsage, "cannot be the name of a run");
  }
}

TEST_CASE("any text is a pointer that is written back as the same, or none") {
  const uint64_t seed = std::random_device{}();
  std::printf("pointers: seed %llu\n", static_cast<unsigned long long>(seed));
  CAPTURE(seed);
  Dice dice(seed);
  const std::vector<std::string> pieces = {"/", "weight_v", "0", "00", "7", "12", "run", " ", "\n", "-", "x", "\xff"};
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (uint64_t left = dice.Below(7); left > 0; --left) text += dice.Pick(pieces);
    CAPTURE(text);
    const Result<VersionPointer> pointer = ParsePointer(text);
    if (!pointer.ok()) {
      CHECK(pointer.error().kind == ErrorKind::kIntegrity);
      continue;
    }
    const Result<VersionPointer> again = ParsePointer(PointerText(*pointer));
    REQUIRE_OK(again);
    CHECK(again->version == pointer->version);
    CHECK(again->run == pointer->run);
  }
}

}  // namespace wdelta
