// Proving a whole history: every record, every object, and the checkpoint that they lead to.
#include <algorithm>
#include <filesystem>
#include <set>

#include "core/parallel.h"
#include "sync/object_transfer.h"
#include "sync/record_info.h"
#include "sync/remote_history.h"
#include "walk/chain.h"
#include "walk/rebuild.h"
#include "wdelta.h"

namespace wdelta {

namespace {

class Prover {
 public:
  Prover(const VerifyRemoteRequest& request, Remote& remote, const Context& context)
      : request_(request), remote_(remote), history_(remote), context_(context) {}

  Result<VerifyRemoteReport> Run(const Revision& revision) {
    WD_ASSIGN(const RecordEntry target, history_.Resolve(revision));
    WD_ASSIGN(const std::vector<RecordEntry> entries, CheckRecords());
    WD_ASSIGN(const std::vector<AddedWay> added, history_.ReadAddedWays());
    for (const RecordEntry& entry : entries) {
      bool whole = true;
      for (const std::optional<Way>* way : {&entry.delta, &entry.anchor}) {
        if (!*way) continue;
        WD_ASSIGN(const bool there, CheckWay(**way));
        whole = whole && there;
      }
      if (!whole) ++report_.collected;
    }
    for (const AddedWay& way : added) {
      if (way.number > entries.size() || way.state != entries[way.number - 1].state) {
        return Error{ErrorKind::kIntegrity,
                     "a way to record " + std::to_string(way.number) + " leads to another state than the record has"};
      }
      WD_TRY(CheckWay(way.way));
    }
    WD_TRY(RebuildRecord(target));
    WD_ASSIGN(const auto record, history_.Read(target.number));
    report_.head = InfoOf(*record);
    return report_;
  }

 private:
  // Each record is read by itself: what others repeat of it has to be true, too.
  Result<std::vector<RecordEntry>> CheckRecords() {
    WD_ASSIGN(const uint64_t tip, history_.FindExistingTip());
    std::vector<RecordEntry> entries;
    for (uint64_t number = 1; number <= tip; ++number) {
      WD_ASSIGN(const auto record, history_.Read(number));
      for (const RecordEntry& told : record->earlier) {
        if (told == entries[told.number - 1]) continue;
        return Error{ErrorKind::kIntegrity, "record " + std::to_string(number) + " repeats record " +
                                                std::to_string(told.number) + " wrongly"};
      }
      if (number > 1 && record->previous != entries.back().record) {
        return Error{ErrorKind::kIntegrity,
                     "record " + std::to_string(number) + " does not follow record " + std::to_string(number - 1)};
      }
      if (record->entry.delta && record->base_state != entries.back().state) {
        return Error{ErrorKind::kIntegrity, "the delta of record " + std::to_string(number) +
                                                " does not begin with the state of the record before"};
      }
      entries.push_back(record->entry);
    }
    report_.records = tip;
    return entries;
  }

  // False: some object of it is gone. kIntegrity: one is not what it should be.
  Result<bool> CheckWay(const Way& way) {
    bool whole = true;
    for (const ObjectRef& object : way.objects) {
      if (!seen_.insert(Hex(object.sha256)).second) continue;
      bool there = false, right = false;
      if (request_.quick) {
        WD_ASSIGN(const std::optional<ObjectInfo> info, remote_.Stat(ObjectKey(object.sha256)));
        there = info.has_value();
        right = there && info->size == object.bytes;
      } else {
        WD_ASSIGN(const std::optional<Sha256Digest> digest, DigestObject(remote_, ObjectKey(object.sha256)));
        there = digest.has_value();
        right = there && *digest == object.sha256;
      }
      if (there && !right) {
        Error error{ErrorKind::kIntegrity,
                    "object '" + remote_.url() + "/" + ObjectKey(object.sha256) + "' is not what its name says"};
        error.path = remote_.url() + "/" + ObjectKey(object.sha256);
        return error;
      }
      whole = whole && there;
      if (!there) {
        gone_.insert(Hex(object.sha256));
        continue;
      }
      ++report_.objects;
      report_.bytes += object.bytes;
    }
    return whole;
  }

  Result<> RebuildRecord(const RecordEntry& target) {
    WD_ASSIGN(PlanInput input, history_.GatherPlan(target, {[](const RecordEntry&) { return false; }, false, true}));
    input.cost = [&](const Way& way) -> std::optional<uint64_t> {
      for (const ObjectRef& object : way.objects) {
        if (gone_.contains(Hex(object.sha256))) return std::nullopt;
      }
      return way.bytes();
    };
    WD_ASSIGN(const Route plan, FindRoute(input));
    if (request_.quick) return {};
    const std::string folder = TemporaryPath("verify");
    WD_TRY(CreateFolder(folder));
    const Result<> proved = [&]() -> Result<> {
      const PackStore packs(folder);
      std::vector<std::string> paths;
      for (const RouteWay& way : plan.ways) {
        uint64_t wire_bytes = 0;
        WD_TRY(packs.Fetch(remote_, way.way, request_.transfer.jobs, context_, &wire_bytes));
        paths.push_back(packs.PathOf(way.way));
      }
      WD_ASSIGN(const OpenedTarget opened, OpenPacks("", paths, {}, Trust::kIndex, context_));
      WD_ASSIGN(const StateDigests state, VerifyTarget(opened, context_));
      if (state.state == target.state) return {};
      Error error{ErrorKind::kIntegrity,
                  "record " + std::to_string(target.number) + " does not rebuild to the state that it names"};
      error.expected = Hex(target.state);
      error.found = Hex(state.state);
      return error;
    }();
    RemoveTree(folder);
    if (!proved.ok()) return proved.error();
    return {};
  }

  const VerifyRemoteRequest& request_;
  Remote& remote_;
  RemoteHistory history_;
  const Context& context_;
  VerifyRemoteReport report_;
  std::set<std::string> seen_, gone_;
};

}  // namespace

Result<VerifyRemoteReport> VerifyRemote(const VerifyRemoteRequest& request, const Context& context) {
  WD_ASSIGN(const RemoteName name, ParseRemoteName(request.remote));
  WD_ASSIGN(const std::unique_ptr<Remote> remote, OpenRemote(name.url, request.transfer, context));
  return Prover(request, *remote, context).Run(name.revision);
}

}  // namespace wdelta
