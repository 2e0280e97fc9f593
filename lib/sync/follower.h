// Brings a replica to a record: what is newest, is it fresh, is it here, plan, room, fetch, rebuild, switch, remember.
// What is gone from the store or spoilt on disk is left out of the next plan.
#pragma once

#include "local/sglang_marker.h"
#include "sync/copy_builder.h"

namespace wdelta {

struct FollowOptions {
  Wish wish;
  BuildOptions build;
  bool check = false, plan = false;  // only say whether, or how
};

struct FollowReport : PullFigures {
  Goal goal;
  std::optional<ReplicaCopy> copy;      // that is current now; absent if nothing was to be done but to say how
  std::optional<StateDigests> digests;  // of a copy that was rebuilt
  std::optional<Totals> totals;         // what changed between it and its base
};

Result<FollowReport> FollowLineage(Lineage& lineage, Replica& replica, const FollowOptions& options,
                                   const Context& context);

// From now on the copies of the replica carry SGLang's marker (local/sglang_marker.h). The lock in the current copy is
// held as long as what comes back lives. If SGLang has brought the copy to another version, the copy is read and the
// replica learns which it is.
Result<std::optional<SglangMarker>> KeepMarker(Replica& replica, double lock_wait, const Context& context);

}  // namespace wdelta
