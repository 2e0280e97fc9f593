// Which packs to fetch. Pure values: what is known of a history goes in, the cheapest row of ways comes out.
#pragma once

#include <functional>

#include "history/record.h"

namespace wdelta {

// One pack on the way: applied to the state of record way.from (or to nothing), it gives that of record `to`.
struct RouteWay {
  uint64_t to = 0;
  Way way;
};

struct Route {
  uint64_t start = 0;  // the record whose state the caller has and the route begins with; 0: it begins with an anchor
  std::vector<RouteWay> ways;
  uint64_t bytes = 0;  // to be fetched, as `cost` told
};

struct PlanInput {
  std::vector<RecordEntry> entries;  // consecutive, rising; the last is the target
  std::vector<AddedWay> added;       // anchors and jumps that were announced afterwards
  // Whether the caller has the state of this record already.
  std::function<bool(const RecordEntry& entry)> have;
  // Bytes to fetch for a way; nullopt: it cannot be had.
  std::function<std::optional<uint64_t>(const Way& way)> cost;
};

// The cheapest plan; among equals the one with the fewest ways. kNotFound names the first link that is missing.
Result<Route> FindRoute(const PlanInput& input);

}  // namespace wdelta
