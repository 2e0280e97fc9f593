// Brings a replica to a record: what is newest, is it fresh, is it here, plan, room, fetch, rebuild, switch, remember.
// What is gone from the store or spoilt on disk is left out of the next plan.
#pragma once

#include "sync/copy_builder.h"

namespace wdelta {

struct FollowOptions {
  Wish wish;
  BuildOptions build;
  bool check = false, plan = false;  // only say whether, or how
};

struct FollowReport {
  Goal goal;
  std::optional<ReplicaCopy> copy;      // that is current now; absent if nothing was to be done but to say how
  std::optional<uint64_t> previous;     // the record that was current before
  bool up_to_date = false;              // nothing had to be done
  bool update_exists = false;           // with `check` or `plan`: something would be
  std::optional<StateDigests> digests;  // of a copy that was rebuilt
  std::optional<Totals> totals;         // what changed between it and its base
  std::vector<PlanStep> plan;
  uint64_t wire_bytes = 0, lag = 0;
  double download_seconds = 0, apply_seconds = 0;
};

class Follower {
 public:
  Follower(Lineage& lineage, Replica& replica, const FollowOptions& options, const Context& context)
      : lineage_(lineage),
        replica_(replica),
        options_(options),
        context_(context),
        builder_(lineage, replica, options.build, context) {}

  Result<FollowReport> Run();

 private:
  Result<FollowReport> FollowOnce();
  Result<> CheckFresh(const SeenRecord& seen);
  Result<> CheckNotRewritten(const SeenRecord& seen);
  Result<> Remember(uint64_t number);

  Result<> Build();
  Result<bool> BuildFrom(const Plan& plan, const Base* base);
  Result<> Recover(const Error& error, const Base* base, unsigned attempt);

  Result<FollowReport> Finish(bool up_to_date);
  Result<FollowReport> Describe();

  Lineage& lineage_;
  Replica& replica_;
  const FollowOptions& options_;
  const Context& context_;
  CopyBuilder builder_;
  FollowReport report_;
  Goal goal_;
  bool follows_ = false;  // the numbers of the copies here mean what they mean in the store
};

}  // namespace wdelta
