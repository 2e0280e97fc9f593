#include "history/route.h"

#include <algorithm>

namespace wdelta {

namespace {

// The best way to a record's state that was found so far.
struct Arrival {
  uint64_t cost = 0, ways = 0;
  size_t from = 0;           // place of the record before on the plan; meaningless without a way or with an anchor
  const Way* way = nullptr;  // null: the caller has it
};

bool IsBetter(uint64_t cost, uint64_t ways, const std::optional<Arrival>& than) {
  return !than || cost < than->cost || (cost == than->cost && ways < than->ways);
}

}  // namespace

Result<Route> FindRoute(const PlanInput& input) {
  const std::vector<RecordEntry>& entries = input.entries;
  const uint64_t first = entries.front().number;
  std::vector<std::optional<Arrival>> best(entries.size());
  const auto offer = [&](size_t to, const Way& way) {
    if (!way.anchor() && (way.from < first || way.from >= first + to)) return;
    const size_t from = way.anchor() ? to : static_cast<size_t>(way.from - first);
    if (!way.anchor() && !best[from]) return;
    const std::optional<uint64_t> cost = input.cost(way);
    if (!cost) return;
    const uint64_t before = way.anchor() ? 0 : best[from]->cost, ways = way.anchor() ? 0 : best[from]->ways;
    if (IsBetter(before + *cost, ways + 1, best[to])) best[to] = Arrival{before + *cost, ways + 1, from, &way};
  };
  for (size_t i = 0; i < entries.size(); ++i) {
    if (input.have(entries[i])) {
      best[i] = Arrival{};
      continue;
    }
    if (entries[i].delta) offer(i, *entries[i].delta);
    if (entries[i].anchor) offer(i, *entries[i].anchor);
    for (const AddedWay& added : input.added) {
      if (added.number == entries[i].number && added.state == entries[i].state) offer(i, added.way);
    }
  }
  if (!best.back()) {
    size_t missing = entries.size() - 1;
    while (missing > 0 && !best[missing - 1]) --missing;
    return Error{ErrorKind::kNotFound,
                 "record " + std::to_string(entries.back().number) + " cannot be rebuilt: objects of record " +
                     std::to_string(entries[missing].number) + " were removed, and there is no later anchor",
                 "'wdelta log' shows which records can be reached"};
  }
  Route plan;
  plan.bytes = best.back()->cost;
  size_t at = entries.size() - 1;
  for (;;) {
    const Arrival& arrival = *best[at];
    if (!arrival.way) {
      plan.start = entries[at].number;
      break;
    }
    plan.ways.push_back({entries[at].number, *arrival.way});
    if (arrival.way->anchor()) break;
    at = arrival.from;
  }
  std::reverse(plan.ways.begin(), plan.ways.end());
  return plan;
}

}  // namespace wdelta
