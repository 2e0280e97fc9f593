// The versions of a run of another system (version_store.h) as what a folder follows. Only its number identifies a
// version, so a copy counts as a version as long as the store goes on with the run that the copy was pulled from.
//
// A delta proves by its checksums what it changes. A whole version is proved only where SHA256SUMS lies beside it.
#pragma once

#include "canonical/version_route.h"
#include "sync/lineage.h"

namespace wdelta {

class CanonicalLineage final : public Lineage {
 public:
  // Versions are fetched into folders below `folder`, with `jobs` transfers at a time (0: as it suits).
  CanonicalLineage(Remote& remote, std::string folder, unsigned jobs, const Context& context);

  // Whether what a replica remembers is such a run, at this very remote.
  static bool Follows(const SeenRecord& seen, const Remote& remote);

  Result<Goal> Find(const Wish& wish, const SeenRecord* at) override;
  Result<bool> StillHas(const SeenRecord& seen) override;
  Result<bool> IsGoal(const Base& copy, const SeenRecord& seen) override;
  Result<Plan> MakePlan(const std::vector<Base>& bases) override;
  Result<bool> Fetch(uint64_t* wire_bytes) override;
  Result<std::optional<Proof>> FetchedWhole() override;
  Result<OpenedTarget> Open(const std::string& base) override;
  bool may_be_damaged() const override { return true; }
  void DropFetched() override;
  Result<std::string> Mark(uint64_t number) override { return store_.MarkOf(number); }

 private:
  std::string FolderOf(uint64_t version) const { return folder_ + "/" + VersionFolder(version); }
  Result<uint64_t> NumberOf(const Revision& revision, uint64_t newest) const;
  Result<> FetchOnce(uint64_t* wire_bytes);
  Result<bool> HasChangesOfGoal(const std::string& path);

  VersionStore store_;
  std::string folder_;
  unsigned jobs_;
  const Context& context_;
  bool only_asks_ = false;
  uint64_t goal_ = 0;
  VersionRoute route_;
  std::string unlike_;  // a copy that is not the goal, although its marker says so
};

}  // namespace wdelta
