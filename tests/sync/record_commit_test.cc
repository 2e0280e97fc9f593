#include "sync/record_commit.h"

#include "support/expect.h"
#include "support/faulty_remote.h"
#include "support/made_history.h"
#include "support/memory_remote.h"

namespace wdelta {

namespace {

const NoteSink kSilent = [](const std::string&) {};

}  // namespace

TEST_CASE("a store that keeps create-if-absent is told from one that ignores it, and no probe is left behind") {
  const auto store = std::make_shared<MemoryStore>();
  const auto good = OpenMemoryRemote(store);
  const Result<bool> keeps = KeepsCreateIfAbsent(*good, kSilent);
  REQUIRE_OK(keeps);
  CHECK(*keeps);
  const auto careless =
      WithFaults(OpenMemoryRemote(store), [](std::string_view, const std::string&) { return Fault::kIgnoreCondition; });
  const Result<bool> ignores = KeepsCreateIfAbsent(*careless, kSilent);
  REQUIRE_OK(ignores);
  CHECK_FALSE(*ignores);
  CHECK(store->Objects().empty());
}

TEST_CASE("a store that replaces on condition is told from one that always does, and no probe is left behind") {
  const auto store = std::make_shared<MemoryStore>();
  const auto good = OpenMemoryRemote(store);
  const Result<bool> keeps = KeepsConditionalReplace(*good, kSilent);
  REQUIRE_OK(keeps);
  CHECK(*keeps);
  const auto careless =
      WithFaults(OpenMemoryRemote(store), [](std::string_view, const std::string&) { return Fault::kIgnoreCondition; });
  const Result<bool> ignores = KeepsConditionalReplace(*careless, kSilent);
  REQUIRE_OK(ignores);
  CHECK_FALSE(*ignores);
  CHECK(store->Objects().empty());
}

TEST_CASE("a probe of conditional replacement that fails halfway is removed, too") {
  const auto store = std::make_shared<MemoryStore>();
  const auto failing = WithFaults(OpenMemoryRemote(store), InOrder({Fault::kNone, Fault::kNone, Fault::kFail}));
  CHECK_FAILS(KeepsConditionalReplace(*failing, kSilent), ErrorKind::kTransient, "no connection");
  CHECK(store->Calls("write") == 1);
  CHECK(store->Objects().empty());
}

TEST_CASE("a tag stays on its record unless it is moved") {
  const auto store = std::make_shared<MemoryStore>();
  const auto remote = OpenMemoryRemote(store);
  const std::vector<Record> history = MadeHistory(2);
  REQUIRE_OK(WriteTag(*remote, "best", history[0].entry, false));
  REQUIRE_OK(WriteTag(*remote, "best", history[0].entry, false));
  CHECK_FAILS(WriteTag(*remote, "best", history[1].entry, false), ErrorKind::kConflict, "on another record");
  REQUIRE_OK(WriteTag(*remote, "best", history[1].entry, true));
  const Result<Tag> tag = ParseTag(store->Objects().at(TagKey("best")).bytes);
  REQUIRE_OK(tag);
  CHECK(tag->number == 2);
}

}  // namespace wdelta
