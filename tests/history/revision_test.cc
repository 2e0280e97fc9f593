#include "history/revision.h"

#include "support/expect.h"

namespace wdelta {

namespace {

using Kind = Revision::Kind;

}  // namespace

TEST_CASE("each way of naming a record is told apart") {
  const auto parsed = [](const char* text) {
    const Result<Revision> revision = ParseRevision(text);
    REQUIRE_OK(revision);
    return *revision;
  };
  CHECK(parsed("HEAD").kind == Kind::kHead);
  CHECK(parsed("HEAD~3").value == 3);
  CHECK(parsed("17").kind == Kind::kNumber);
  CHECK(parsed("17").value == 17);
  CHECK(parsed("step:95").kind == Kind::kStep);
  CHECK(parsed("step:95").value == 95);
  CHECK(parsed("best").kind == Kind::kTag);
  CHECK(parsed("v1.0_final-b").kind == Kind::kTag);
  CHECK(parsed("deadbeef").kind == Kind::kState);
  CHECK(parsed("12345678901234").kind == Kind::kState);
  CHECK(parsed("deadbee").kind == Kind::kTag);
}

TEST_CASE("what names no record is refused") {
  for (const char* text : {"", "HEAD~", "HEAD~x", "step:", "step:-1", "step:1.5", "a/b", "..", ".hidden", "-x", "a b",
                           "a\n", "a..b", "caf\xc3\xa9"}) {
    CHECK_FAILS(ParseRevision(text), ErrorKind::kUsage, "names no record");
  }
}

TEST_CASE("a tag cannot be called like another kind of revision") {
  for (const char* name : {"HEAD", "Best", "17", "deadbeef", "", "a/b", "step:1"}) CHECK_FALSE(CheckTagName(name).ok());
  CHECK_FALSE(CheckTagName(std::string(101, 'x')).ok());
  REQUIRE_OK(CheckTagName("release-2026.11"));
}

TEST_CASE("a revision is what follows the last '@', unless a path goes on after it") {
  const Result<RemoteName> name = ParseRemoteName("s3://bucket/run7@step:95");
  REQUIRE_OK(name);
  CHECK(name->url == "s3://bucket/run7");
  CHECK(name->given);
  CHECK(name->revision.value == 95);
  const Result<RemoteName> user = ParseRemoteName("https://user@host/run7");
  REQUIRE_OK(user);
  CHECK(user->url == "https://user@host/run7");
  CHECK_FALSE(user->given);
  CHECK_FAILS(ParseRemoteName("s3://bucket/run7@"), ErrorKind::kUsage, "names no record");
}

TEST_CASE("a range has a first, a last, both or neither") {
  const Result<RemoteRange> both = ParseRemoteRange("file:///r@3..step:9");
  REQUIRE_OK(both);
  CHECK(both->url == "file:///r");
  CHECK(both->first->value == 3);
  CHECK(both->last->kind == Kind::kStep);
  const Result<RemoteRange> open = ParseRemoteRange("file:///r@3..");
  REQUIRE_OK(open);
  CHECK(open->first);
  CHECK_FALSE(open->last);
  const Result<RemoteRange> none = ParseRemoteRange("file:///a..b/r");
  REQUIRE_OK(none);
  CHECK(none->url == "file:///a..b/r");
  CHECK_FALSE(none->first);
}

}  // namespace wdelta
