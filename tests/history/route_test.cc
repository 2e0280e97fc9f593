#include "history/route.h"

#include <random>

#include "support/expect.h"
#include "support/made_history.h"

namespace wdelta {

namespace {

PlanInput InputFor(const std::vector<Record>& history, uint64_t had) {
  PlanInput input;
  for (const Record& record : history) input.entries.push_back(record.entry);
  input.have = [had](const RecordEntry& entry) { return entry.number == had; };
  input.cost = [](const Way& way) { return std::optional(way.bytes()); };
  return input;
}

AddedWay Added(const std::vector<Record>& history, uint64_t from, uint64_t to, uint64_t bytes) {
  return {
      history[0].history, to, history[to - 1].entry.state, {from, {{MadeDigest("added", from * 1000 + to), bytes}}}};
}

}  // namespace

TEST_CASE("whoever has nothing begins with the anchor and follows all deltas") {
  const Result<Route> plan = FindRoute(InputFor(MadeHistory(20), 0));
  REQUIRE_OK(plan);
  CHECK(plan->start == 0);
  REQUIRE(plan->ways.size() == 20);
  CHECK(plan->ways[0].way.anchor());
  CHECK(plan->ways[19].to == 20);
  CHECK(plan->bytes == 1'019'000);
}

TEST_CASE("whoever has a record follows the deltas from there, whatever anchors appear") {
  const std::vector<Record> history = MadeHistory(20);
  PlanInput input = InputFor(history, 15);
  input.added = {Added(history, 0, 20, 1'000'000), Added(history, 0, 18, 900'000)};
  const Result<Route> plan = FindRoute(input);
  REQUIRE_OK(plan);
  CHECK(plan->start == 15);
  CHECK(plan->ways.size() == 5);
  CHECK(plan->bytes == 5'000);
}

TEST_CASE("an anchor or a jump is taken where it is the cheaper way") {
  const std::vector<Record> history = MadeHistory(20);
  PlanInput input = InputFor(history, 5);
  input.added = {Added(history, 6, 18, 2'000), Added(history, 0, 12, 7'000)};
  Result<Route> plan = FindRoute(input);
  REQUIRE_OK(plan);
  CHECK(plan->start == 5);
  REQUIRE(plan->ways.size() == 4);  // 6, the jump to 18, 19, 20
  CHECK(plan->ways[1].way.from == 6);
  CHECK(plan->bytes == 5'000);
  input.added = {Added(history, 0, 19, 3'000)};
  plan = FindRoute(input);
  REQUIRE_OK(plan);
  CHECK(plan->start == 0);
  CHECK(plan->bytes == 4'000);
}

TEST_CASE("a way to a state that the record does not have is not taken") {
  const std::vector<Record> history = MadeHistory(3);
  PlanInput input = InputFor(history, 0);
  input.added = {Added(history, 0, 3, 10)};
  input.added[0].state = MadeDigest("state", 99);
  const Result<Route> plan = FindRoute(input);
  REQUIRE_OK(plan);
  CHECK(plan->bytes == 1'002'000);
}

TEST_CASE("a link that is gone is named, unless an anchor comes after it") {
  const std::vector<Record> history = MadeHistory(20);
  PlanInput input = InputFor(history, 3);
  input.cost = [](const Way& way) -> std::optional<uint64_t> {
    if (way.from < 9) return std::nullopt;
    return way.bytes();
  };
  CHECK_FAILS(FindRoute(input), ErrorKind::kNotFound, "objects of record 4 were removed");
  input.added = {Added(history, 0, 10, 1'000'000)};
  input.cost = [](const Way& way) -> std::optional<uint64_t> {
    if (!way.anchor() && way.from < 9) return std::nullopt;
    return way.bytes();
  };
  const Result<Route> plan = FindRoute(input);
  REQUIRE_OK(plan);
  CHECK(plan->start == 0);
  CHECK(plan->ways.front().to == 10);
}

TEST_CASE("a plan leads from something one has to the target, and no single way is missing") {
  const uint64_t seed = std::random_device{}();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  const std::vector<Record> history = MadeHistory(40);
  for (int round = 0; round < 300; ++round) {
    const uint64_t had = random() % 41;
    PlanInput input = InputFor(history, had);
    for (int i = 0; i < 6; ++i) {
      const uint64_t to = 2 + random() % 39;
      input.added.push_back(Added(history, random() % to, to, 1 + random() % 20'000));
    }
    const Result<Route> plan = FindRoute(input);
    REQUIRE_OK(plan);
    uint64_t at = plan->start, bytes = 0;
    CHECK((plan->start == 0 || plan->start == had));
    for (const RouteWay& way : plan->ways) {
      CHECK((way.way.anchor() || way.way.from == at));
      at = way.to;
      bytes += way.way.bytes();
    }
    CHECK(at == 40);
    CHECK(bytes == plan->bytes);
    if (had > 0) CHECK(bytes <= (40 - had) * 1'000);
  }
}

}  // namespace wdelta
