// Makes the copy of a replica that a plan leads to, from what was fetched and what is here.
//
// A new copy is new files: the copy that it is made from stays as it is, so that servers may have it open. Only with
// `in_place` is a copy patched where it lies; and a whole checkpoint that was just fetched, which nobody uses yet.
#pragma once

#include "sync/lineage.h"
#include "walk/rebuild.h"

namespace wdelta {

struct BuildOptions {
  bool in_place = false;  // patch a copy, and keep no other
  unsigned keep = 2;      // copies
  std::string base;       // a checkpoint to begin with if the folder has no copy that is one; may be empty
};

class CopyBuilder {
 public:
  CopyBuilder(Lineage& lineage, Replica& replica, const BuildOptions& options, const Context& context)
      : lineage_(lineage), replica_(replica), options_(options), context_(context) {}

  // Finishes the journals of copies whose patching was interrupted, and reads what has become of them.
  Result<> FinishInterrupted();
  // What a plan may start from. `numbered`: the numbers of the copies mean what they mean in the store.
  std::vector<Base> Bases(bool numbered) const;
  // Leaves that base out from now on.
  void Spoil(const Base& base) { spoilt_.push_back(base); }
  // Removes copies that were left out as bases, but for the current one.
  Result<> RemoveSpoilt();
  bool IsStaged(const Base& base) const { return base.path == staged_; }

  // kLocalIo unless there is room for what the plan fetches and what is made from it.
  Result<> CheckRoom(const Goal& goal, const Plan& plan, const Base* base) const;
  // Makes what the plan leads to current. kConflict, kIntegrity and kNotFound may be the fault of the base.
  struct Built {
    StateDigests digests;
    std::optional<Totals> totals;  // what changed, if there was something to apply
  };
  Result<Built> Build(const Goal& goal, const Plan& plan, const Base* base);
  // The same for a whole checkpoint that was fetched as the beginning of a longer way: it becomes a copy that is not
  // current, and the rest of the way has to be planned from there.
  Result<> Stage(const Proof& whole, const CopyLabel& label);
  // After a failure: removes such a copy, unless there is no other.
  void DropStaged();

 private:
  Result<Proof> FinishAndRead(const std::string& path) const;
  Result<Built> AdoptHere(const Goal& goal, const Base& base);
  Result<Built> Patch(const Goal& goal, const Base& base);
  Result<Built> Copy(const Goal& goal, const Plan& plan, const Base* base);
  Result<Built> Adopt(const Goal& goal, const Rebuilt& rebuilt);
  std::optional<ReplicaCopy> OwnCopy(const Base* base) const;
  bool Patches(const Plan& plan, const Base* base) const;
  // The copies that make room for a new one.
  std::vector<ReplicaCopy> Due(const Base* base) const;
  size_t most_copies() const { return std::max(2U, options_.keep); }

  Lineage& lineage_;
  Replica& replica_;
  const BuildOptions& options_;
  const Context& context_;
  std::optional<Proof> half_;  // of the unfinished copy, after its journal was finished
  std::string staged_;
  std::vector<Base> spoilt_;
};

}  // namespace wdelta
