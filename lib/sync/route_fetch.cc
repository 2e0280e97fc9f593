#include "sync/route_fetch.h"

#include <algorithm>

#include "core/parallel.h"
#include "walk/chain.h"

namespace wdelta {

Result<Route> RouteFetch::Plan(const RecordEntry& goal, const Have& have, bool has_any) {
  // The cheap plan asks for few of the announced ways. Once a pack was missing, all of them are looked at.
  WD_ASSIGN(PlanInput input, history_.GatherPlan(goal, {have, has_any, !missing_.empty()}));
  input.cost = [this](const Way& way) -> std::optional<uint64_t> {
    const auto same = [&](const Way& gone) { return gone.objects == way.objects; };
    if (std::any_of(missing_.begin(), missing_.end(), same)) return std::nullopt;
    return packs_.MissingBytes(way);
  };
  entries_ = input.entries;
  return FindRoute(input);
}

Result<bool> RouteFetch::Fetch(const Route& route) {
  // A model that goes back and forth passes the same pack more than once; it is fetched once.
  std::vector<RouteWay> ways;
  for (const RouteWay& planned : route.ways) {
    const auto same = [&](const RouteWay& earlier) { return earlier.way.objects == planned.way.objects; };
    if (std::none_of(ways.begin(), ways.end(), same)) ways.push_back(planned);
  }
  // Many small packs are fetched side by side, a few large ones each in several pieces.
  const unsigned packs_at_once = ways.size() < jobs_ ? 1 : jobs_;
  Context quiet = context_;
  if (packs_at_once > 1) quiet.progress = [](const Progress&) {};
  Progress progress{0, route.bytes};
  std::optional<size_t> gone;
  struct Fetched {
    uint64_t wire_bytes = 0;
    bool gone = false;
  };
  Result<> fetched = RunOrdered<Fetched>(
      ways.size(), {packs_at_once, packs_at_once},
      [&](uint64_t n, unsigned) -> Result<Fetched> {
        Fetched one;
        Result<> done = packs_.Fetch(history_.remote(), ways[n].way, jobs_ / packs_at_once, quiet, &one.wire_bytes);
        one.gone = !done.ok() && done.error().kind == ErrorKind::kNotFound;
        if (!done.ok() && !one.gone) return done.TakeError();
        return one;
      },
      [&](uint64_t n, const Fetched& one) -> Result<> {
        if (one.gone && !gone) gone = n;
        wire_bytes_ += one.wire_bytes;
        progress.done_bytes += one.wire_bytes;
        if (packs_at_once > 1) context_.progress(progress);
        return {};
      });
  if (!fetched.ok()) return fetched.TakeError();
  if (!gone) return true;
  context_.note("the pack of record " + std::to_string(ways[*gone].to) + " has been removed from the store");
  missing_.push_back(ways[*gone].way);
  return false;
}

Result<Route> RouteFetch::PlanAndFetch(const RecordEntry& goal, const Have& have, bool has_any) {
  for (;;) {
    WD_ASSIGN(Route route, Plan(goal, have, has_any));
    WD_ASSIGN(const bool fetched, Fetch(route));
    if (fetched) return route;
  }
}

std::vector<std::string> PathsOf(const Route& route, const PackStore& packs) {
  std::vector<std::string> paths;
  for (const RouteWay& way : route.ways) paths.push_back(packs.PathOf(way.way));
  return paths;
}

Result<OpenedTarget> OpenRoute(const Route& route, const PackStore& packs, const std::string& base,
                               const FileChoice& files, const Context& context) {
  return OpenPacks(route.start > 0 ? base : "", PathsOf(route, packs), files, Trust::kIndex, context);
}

}  // namespace wdelta
