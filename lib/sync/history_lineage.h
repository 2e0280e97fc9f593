// The records of a history as what a folder follows. A record is identified by its state, so a copy is a base whatever
// its number is.
#pragma once

#include "sync/lineage.h"
#include "sync/route_fetch.h"

namespace wdelta {

class HistoryLineage final : public Lineage {
 public:
  // Packs are fetched into the folder `packs`, `jobs` transfers at a time (0: as it suits).
  HistoryLineage(RemoteHistory& history, const std::string& packs, unsigned jobs, const Context& context)
      : history_(history), fetch_(history, PackStore(packs), jobs, context), context_(context) {}

  Result<Goal> Find(const Wish& wish, const SeenRecord* at) override;
  Result<bool> StillHas(const SeenRecord& seen) override;
  Result<bool> IsGoal(const Base& copy, const SeenRecord& seen) override;
  Result<Plan> MakePlan(const std::vector<Base>& bases) override;
  Result<bool> Fetch(uint64_t* wire_bytes) override;
  Result<OpenedTarget> Open(const std::string& base) override;
  bool may_be_damaged() const override { return false; }
  void DropFetched() override { fetch_.packs().KeepOnly({}); }
  Result<std::string> Mark(uint64_t number) override;

 private:
  // The state of a base that the user has named, which is read once to find out.
  Result<Sha256Digest> StateOfGiven(const std::string& path);

  RemoteHistory& history_;
  RouteFetch fetch_;
  const Context& context_;
  RecordEntry goal_;
  Route route_;
  FileChoice given_files_;
  std::optional<Sha256Digest> given_state_;
};

}  // namespace wdelta
