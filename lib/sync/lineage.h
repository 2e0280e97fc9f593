// Where the checkpoints that a folder follows come from: a history of ours (HistoryAsLineage) or the versions that
// other systems write (canonical/canonical_lineage.h). A Follower asks a lineage what is newest, lets it plan and
// fetch, and opens what that leads to; the lineage knows nothing of the folder but the bases that it is offered.
//
// Here "record" stands for a version of another system, too.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "local/replica.h"
#include "reports.h"
#include "sync/remote_history.h"
#include "walk/walk.h"

namespace wdelta {

// What the user asks for.
struct Wish {
  Revision revision;
  bool named = false;           // the user named a revision, which is never refused as old
  bool allow_rollback = false;  // nor is anything else
  double max_age = 0;           // seconds; 0: any
  bool only_asks = false;       // nothing may be changed or fetched
};

// The record that the folder is to come to.
struct Goal {
  CopyLabel label;
  uint64_t newest = 0;                   // number of the newest record
  uint64_t published = 0;                // seconds since 1970; known if the wish has a maximal age
  std::optional<Sha256Digest> state;     // absent: the store does not say; then only the number identifies a record
  uint64_t bytes = 0;                    // of all its tensors; 0: the store does not say
  SeenRecord seen;                       // what to remember of it, without a mark
  std::shared_ptr<const Record> record;  // null where there are no records
  bool unchanged = false;                // nothing came after `at`; of the other fields only `seen` is filled
};

// A checkpoint on this machine that a route may start from.
struct Base {
  std::string path;
  std::optional<uint64_t> number;     // absent: not known
  std::optional<Sha256Digest> state;  // absent: not known
  bool half = false;                  // it was that, and has been patched in part since then
};

struct Plan {
  std::optional<size_t> base;   // which of the bases it starts from; absent: it begins with a whole checkpoint
  std::vector<PlanStep> steps;  // none: the base is the goal
  uint64_t patch_bytes = 0;     // about what a journal for all steps would take
};

class Lineage {
 public:
  virtual ~Lineage() = default;

  // Finds the goal, which all other calls are about. `at`, if not null, is the record that the folder has: one request
  // tells then that nothing has changed.
  virtual Result<Goal> Find(const Wish& wish, const SeenRecord* at) = 0;
  // Whether a record that was seen before is still the same. Called where it is not newer than the newest one.
  virtual Result<bool> StillHas(const SeenRecord& seen) = 0;
  // Whether the copy in the folder is the goal already.
  virtual Result<bool> IsGoal(const Base& copy, const SeenRecord& seen) = 0;

  // The cheapest plan to the goal, which the calls below are about. kNotFound: there is none.
  virtual Result<Plan> MakePlan(const std::vector<Base>& bases) = 0;
  // Fetches what the plan needs. False: something is no longer in the store, and another plan has to do without it.
  virtual Result<bool> Fetch(uint64_t* wire_bytes) = 0;
  // The whole checkpoint that the plan begins with, where it was fetched as a folder; it may be moved from there.
  virtual Result<std::optional<Proof>> FetchedWhole() { return std::optional<Proof>(); }
  // What the plan leads to from the checkpoint at `base`; empty: from what was fetched.
  virtual Result<OpenedTarget> Open(const std::string& base) = 0;

  // Whether fetching again may help when a walk finds damage; false: all that was fetched has been proved by digests.
  virtual bool may_be_damaged() const = 0;
  virtual void DropFetched() = 0;
  // What a record's object looks like from outside, to see at a glance later that it is the same; empty: not known.
  virtual Result<std::string> Mark(uint64_t number) = 0;
};

// The records of a history as what a folder follows. A record is identified by its state, so a copy is a base whatever
// its number is. Packs are fetched into the folder `packs`, `jobs` transfers at a time (0: as it suits).
std::unique_ptr<Lineage> HistoryAsLineage(RemoteHistory& history, const std::string& packs, unsigned jobs,
                                          const Context& context);

// That the newest record of a store has a lower number than one that was seen there before.
Error WentBackwards(const std::string& url, uint64_t seen, uint64_t found);

}  // namespace wdelta
