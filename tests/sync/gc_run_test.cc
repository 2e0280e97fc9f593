#include "support/pushed_run.h"
#include "sync/gc_fence.h"
#include "sync/record_commit.h"

namespace wdelta {

namespace {

// Six records, the fifth with an anchor that was added, a thousand seconds ago.
struct OldRun : PushedRun {
  OldRun() {
    store->SetClock([this] { return now; });
    PushMany(4);
    WriteModel("5", 5);
    REQUIRE_OK(Push({.source = "5", .anchor_every = 3}));
    WriteModel("6", 6);
    REQUIRE_OK(Push("6"));
    now += 1000;
  }
  Result<GcReport> Run(uint64_t keep, bool remove = true, double grace = 100) {
    const auto remote = OpenMemoryRemote(store);
    GcOptions request;
    request.keep = keep;
    request.grace = grace;
    request.remove = remove;
    return GcFrom(*remote, *remote, request);
  }
  bool Has(uint64_t record) { return store->Objects().contains(ObjectOf(record)); }

  int64_t now = 1'700'000'000;
};

}  // namespace

TEST_CASE("gc keeps what leads to the kept records, from the newest anchor on, and all records") {
  OldRun run;
  const auto report = run.Run(1);
  REQUIRE_OK(report);
  CHECK(report->records == 6);
  CHECK(report->first_kept == 6);
  CHECK(report->objects_total == 7);
  CHECK(report->objects_removed == 5);
  for (const uint64_t record : {1, 2, 3, 4, 5}) CHECK_FALSE(run.Has(record));
  CHECK(run.Has(6));
  CHECK(run.Keys(kRecordPrefix).size() == 6);
  CHECK(run.Keys(kObjectPrefix).size() == 2);
}

TEST_CASE("gc that only asks removes nothing, and says the same") {
  OldRun run;
  const auto asked = run.Run(1, false);
  REQUIRE_OK(asked);
  CHECK(asked->objects_removed == 5);
  CHECK(run.Keys(kObjectPrefix).size() == 7);
}

TEST_CASE("gc leaves young objects alone") {
  OldRun run;
  const auto report = run.Run(1, true, 5000);
  REQUIRE_OK(report);
  CHECK(report->objects_removed == 0);
  CHECK(report->objects_too_young == 5);
}

TEST_CASE("a tag keeps what leads to its record") {
  OldRun run;
  Session session = run.Open();
  const auto entry = session.history().Resolve({Revision::Kind::kNumber, 3, {}});
  REQUIRE_OK(entry);
  REQUIRE_OK(WriteTag(session.remote(), "best", *entry, false));
  REQUIRE_OK(run.Run(1));
  for (const uint64_t record : {1, 2, 3, 6}) CHECK(run.Has(record));
  for (const uint64_t record : {4, 5}) CHECK_FALSE(run.Has(record));
}

}  // namespace wdelta
