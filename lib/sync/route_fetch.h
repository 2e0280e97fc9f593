// Fetching what leads to a record. The plan and the fetch are two steps, so that the caller can look at the plan: is
// there room on the disk, was only the plan asked for? When gc has removed a pack meanwhile, the next plan does without
// it.
//
//   RouteFetch fetch(history, packs, jobs, context);
//   WD_ASSIGN(const Route route, fetch.PlanAndFetch(entry, have, true));
//   WD_ASSIGN(const OpenedTarget opened, OpenRoute(route, packs, base_path, files, context));
#pragma once

#include "sync/object_transfer.h"
#include "sync/remote_history.h"

namespace wdelta {

class RouteFetch {
 public:
  using Have = std::function<bool(const RecordEntry& entry)>;

  // All must outlive it. `jobs`: transfers at a time, 0 as it suits.
  RouteFetch(RemoteHistory& history, PackStore packs, unsigned jobs, const Context& context)
      : history_(history), packs_(std::move(packs)), jobs_(JobsOrDefault(jobs)), context_(context) {}

  // The route to `goal` with the fewest bytes to fetch: from a record whose state the caller has, or from an anchor.
  // `has_any`: `have` is true for some record. Packs that were found missing are avoided. kNotFound names the first
  // link that is missing.
  Result<Route> Plan(const RecordEntry& goal, const Have& have, bool has_any);
  // The records that the last plan looked at: consecutive, the last one is the goal.
  const std::vector<RecordEntry>& entries() const { return entries_; }

  // Fetches the packs of a route, and checks them by their digests. False: one of them is no longer in the store; a
  // note says so, and another plan has to do without it.
  Result<bool> Fetch(const Route& route);

  // Both, until a route was fetched.
  Result<Route> PlanAndFetch(const RecordEntry& goal, const Have& have, bool has_any);

  const PackStore& packs() const { return packs_; }
  uint64_t wire_bytes() const { return wire_bytes_; }  // of all fetches so far

 private:
  RemoteHistory& history_;
  const PackStore packs_;
  const unsigned jobs_;
  const Context& context_;
  std::vector<RecordEntry> entries_;
  std::vector<Way> missing_;  // that the store no longer has
  uint64_t wire_bytes_ = 0;
};

// The packs of a route that was fetched, in their order.
std::vector<std::string> PathsOf(const Route& route, const PackStore& packs);
// Opens what they lead to from the checkpoint at `base`, which does not matter where the route begins with an anchor.
Result<OpenedTarget> OpenRoute(const Route& route, const PackStore& packs, const std::string& base,
                               const FileChoice& files, const Context& context);

}  // namespace wdelta
