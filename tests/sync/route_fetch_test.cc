#include "sync/route_fetch.h"

#include "support/pushed_run.h"

namespace wdelta {

namespace {

struct Rig {
  Rig() { run.PushMany(5); }
  Result<Route> Fetch(uint64_t record, std::optional<uint64_t> have) {
    Session session = run.Open();
    WD_ASSIGN(const RecordEntry entry, session.history().Resolve({Revision::Kind::kNumber, record, {}}));
    RouteFetch fetch(session.history(), PackStore(packs.path()), 2, run.context);
    WD_ASSIGN(Route route,
              fetch.PlanAndFetch(
                  entry, [&](const RecordEntry& other) { return other.number == have; }, have.has_value()));
    wire_bytes = fetch.wire_bytes();
    return route;
  }

  PushedRun run;
  ScratchFolder packs;
  uint64_t wire_bytes = 0;
};

}  // namespace

TEST_CASE("the packs of a route are fetched, each once") {
  Rig rig;
  rig.run.counts->Forget();
  const auto route = rig.Fetch(5, 2);
  REQUIRE_OK(route);
  CHECK(route->start == 2);
  REQUIRE(route->ways.size() == 3);
  uint64_t bytes = 0;
  for (const RouteWay& way : route->ways) {
    CHECK(PackStore(rig.packs.path()).Has(way.way));
    CHECK(rig.run.counts->BytesRead().at(ObjectKey(way.way.objects[0].sha256)) == way.way.bytes());
    bytes += way.way.bytes();
  }
  CHECK(rig.wire_bytes == bytes);
  REQUIRE_OK(rig.Fetch(5, 2));  // they are there
  CHECK(rig.wire_bytes == 0);
}

TEST_CASE("a caller that has nothing begins with the anchor, one that has the goal fetches nothing") {
  Rig rig;
  const auto all = rig.Fetch(3, {});
  REQUIRE_OK(all);
  CHECK(all->start == 0);
  CHECK(all->ways.size() == 3);
  const auto none = rig.Fetch(3, 3);
  REQUIRE_OK(none);
  CHECK(none->start == 3);
  CHECK(none->ways.empty());
}

TEST_CASE("a pack that is gone is planned around, and without a way around it is named") {
  Rig rig;
  rig.run.store->Erase(rig.run.ObjectOf(4));
  CHECK_FAILS(rig.Fetch(5, 2), ErrorKind::kNotFound, "4");
  CHECK(rig.run.Noted("the pack of record 4 has been removed from the store"));
  rig.run.WriteModel("6", 6);
  REQUIRE_OK(rig.run.Push({.source = "6", .anchor_every = 2}));
  const auto around = rig.Fetch(6, 2);
  REQUIRE_OK(around);
  CHECK(around->start == 0);
  CHECK(around->ways.size() == 1);
}

}  // namespace wdelta
