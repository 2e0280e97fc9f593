#include "sync/verify_history.h"

#include "support/pushed_run.h"

namespace wdelta {

namespace {

Result<VerifyRemoteReport> Verify(const PushedRun& run, bool quick = false) {
  Session session = run.Open();
  return VerifyHistory(session, quick, run.context);
}

}  // namespace

TEST_CASE("verifying a history fetches each object once") {
  const PushedRun run;
  run.PushMany(4);
  run.WriteModel("5", 5);
  REQUIRE_OK(run.Push({.source = "5", .anchor_every = 3}));  // record 5 is rebuilt from that, the others are only read
  run.counts->Forget();
  const auto report = Verify(run);
  REQUIRE_OK(report);
  CHECK(report->records == 5);
  CHECK(report->objects == 6);
  CHECK(report->collected == 0);
  CHECK(report->head.number == 5);
  const auto read = run.counts->BytesRead();
  for (const auto& [key, object] : run.store->Objects()) {
    if (key.starts_with(kObjectPrefix)) CHECK_MESSAGE(read.at(key) == object.bytes.size(), key);
  }
}

TEST_CASE("a quick look fetches no object") {
  const PushedRun run;
  run.PushMany(3);
  run.counts->Forget();
  const auto report = Verify(run, true);
  REQUIRE_OK(report);
  CHECK(report->objects == 3);
  for (const auto& [key, bytes] : run.counts->BytesRead()) CHECK_FALSE(key.starts_with(kObjectPrefix));
}

TEST_CASE("an object that is damaged is named, wherever it lies") {
  for (const uint64_t record : {2, 4}) {
    const PushedRun run;
    run.PushMany(3);
    run.WriteModel("4", 4);
    REQUIRE_OK(run.Push({.source = "4", .anchor_every = 2}));
    const std::string key = run.ObjectOf(record);
    Bytes bytes = run.store->Objects().at(key).bytes;
    bytes[bytes.size() / 2] ^= 1;
    run.store->Put(key, bytes);
    CHECK_FAILS(Verify(run), ErrorKind::kIntegrity, key);
    REQUIRE_OK(Verify(run, true));
    bytes.pop_back();
    run.store->Put(key, bytes);
    CHECK_FAILS(Verify(run, true), ErrorKind::kIntegrity, key);
  }
}

TEST_CASE("objects that are gone are counted, and a fault only if the record cannot be rebuilt without them") {
  const PushedRun run;
  run.PushMany(3);
  run.WriteModel("4", 4);
  REQUIRE_OK(run.Push({.source = "4", .anchor_every = 2}));
  run.store->Erase(run.ObjectOf(2));
  for (const bool quick : {false, true}) {
    const auto report = Verify(run, quick);
    REQUIRE_OK(report);
    CHECK(report->collected == 1);
    CHECK(report->objects == 4);
  }
  run.store->Erase(AddedWayKey(4, 0));
  for (const bool quick : {false, true}) CHECK_FAILS(Verify(run, quick), ErrorKind::kNotFound, "2");
}

}  // namespace wdelta
