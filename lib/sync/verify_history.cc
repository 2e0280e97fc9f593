#include "sync/verify_history.h"

#include <map>

#include "core/parallel.h"
#include "sync/route_fetch.h"
#include "walk/chain.h"
#include "walk/rebuild.h"

namespace wdelta {

namespace {

class HistoryVerifier {
 public:
  HistoryVerifier(Session& session, bool quick, std::string folder, const Context& context)
      : session_(session), history_(session.history()), quick_(quick), folder_(std::move(folder)), context_(context) {}

  Result<VerifyRemoteReport> Run() {
    WD_ASSIGN(const RecordEntry target, session_.Resolve());
    WD_ASSIGN(const std::vector<RecordEntry> entries, CheckRecords());
    WD_ASSIGN(const std::vector<AddedWay> added, history_.ReadAddedWays());
    for (const AddedWay& way : added) {
      if (way.number <= entries.size() && way.state == entries[way.number - 1].state) continue;
      return Error{ErrorKind::kIntegrity,
                   "an added pack of record " + std::to_string(way.number) + " does not have the state of the record"};
    }
    // The packs that rebuild the record come first, so that they need not be fetched once more. If there are not enough
    // of them, that is told after everything else was looked at: damage is worse.
    Result<Route> route = quick_ ? Result<Route>(Route{}) : FetchRoute(target);
    if (!route.ok() && route.error().kind != ErrorKind::kNotFound) return route.TakeError();
    if (route.ok()) {
      for (const RouteWay& way : route->ways) {
        for (const ObjectRef& object : way.way.objects) is_there_[ObjectKey(object.sha256)] = true;
      }
    }
    WD_TRY(CheckObjects(entries, added));
    if (!route.ok()) return route.TakeError();
    if (quick_) {
      WD_TRY(FindRouteTo(target));
    } else {
      WD_TRY(RebuildRecord(target, *route));
    }
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

  // Each object once, however many ways it is part of.
  Result<> CheckObjects(const std::vector<RecordEntry>& entries, const std::vector<AddedWay>& added) {
    std::vector<ObjectRef> unknown;
    std::map<std::string, uint64_t> bytes;
    const auto gather = [&](const Way& way) {
      for (const ObjectRef& object : way.objects) {
        const std::string key = ObjectKey(object.sha256);
        if (bytes.emplace(key, object.bytes).second && !is_there_.contains(key)) unknown.push_back(object);
      }
    };
    for (const RecordEntry& entry : entries) {
      if (entry.delta) gather(*entry.delta);
      if (entry.anchor) gather(*entry.anchor);
    }
    for (const AddedWay& way : added) gather(way.way);
    const unsigned jobs = JobsOrDefault(session_.jobs());
    WD_ASSIGN(const std::vector<bool> there,
              CollectOrdered<bool>(unknown.size(), {jobs, jobs}, [&](uint64_t i) { return CheckObject(unknown[i]); }));
    for (size_t i = 0; i < unknown.size(); ++i) is_there_[ObjectKey(unknown[i].sha256)] = there[i];
    for (const auto& [key, size] : bytes) {
      if (!is_there_.at(key)) continue;
      ++report_.objects;
      report_.bytes += size;
    }
    for (const RecordEntry& entry : entries) {
      const bool whole = (!entry.delta || IsThere(*entry.delta)) && (!entry.anchor || IsThere(*entry.anchor));
      if (!whole) ++report_.collected;
    }
    return {};
  }

  // False: it is gone. kIntegrity: it is not what it should be.
  Result<bool> CheckObject(const ObjectRef& object) {
    const std::string key = ObjectKey(object.sha256);
    bool there = false, right = false;
    if (quick_) {
      WD_ASSIGN(const std::optional<ObjectInfo> info, session_.remote().Stat(key));
      there = info.has_value();
      right = there && info->size == object.bytes;
    } else {
      WD_ASSIGN(const std::optional<Sha256Digest> digest, DigestObject(session_.remote(), key));
      there = digest.has_value();
      right = digest == object.sha256;
    }
    if (!there || right) return there;
    const std::string path = session_.url() + "/" + key;
    return Error{ErrorKind::kIntegrity, "object '" + path + "' does not match the SHA-256 in its name", "", path};
  }

  bool IsThere(const Way& way) const {
    for (const ObjectRef& object : way.objects) {
      if (!is_there_.at(ObjectKey(object.sha256))) return false;
    }
    return true;
  }

  Result<Route> FetchRoute(const RecordEntry& target) {
    WD_TRY(CreateFolder(folder_));
    RouteFetch fetch(history_, PackStore(folder_), session_.jobs(), context_);
    return fetch.PlanAndFetch(
        target, [](const RecordEntry&) { return false; }, false);
  }

  // Whether the objects that are there lead to the record.
  Result<> FindRouteTo(const RecordEntry& target) {
    WD_ASSIGN(PlanInput input, history_.GatherPlan(target, {[](const RecordEntry&) { return false; }, false, true}));
    input.cost = [&](const Way& way) { return IsThere(way) ? std::optional(way.bytes()) : std::nullopt; };
    WD_TRY(FindRoute(input));
    return {};
  }

  Result<> RebuildRecord(const RecordEntry& target, const Route& route) {
    WD_ASSIGN(const OpenedTarget opened, OpenRoute(route, PackStore(folder_), "", {}, context_));
    WD_ASSIGN(const StateDigests state, VerifyTarget(opened, context_));
    if (state.state == target.state) return {};
    Error error{ErrorKind::kIntegrity,
                "record " + std::to_string(target.number) + " does not rebuild to the state that it names"};
    error.expected = Hex(target.state);
    error.found = Hex(state.state);
    return error;
  }

  Session& session_;
  RemoteHistory& history_;
  const bool quick_;
  const std::string folder_;
  const Context& context_;
  VerifyRemoteReport report_;
  std::map<std::string, bool> is_there_;  // by key
};

}  // namespace

Result<VerifyRemoteReport> VerifyHistory(Session& session, bool quick, const Context& context) {
  const TemporaryTree folder(TemporaryPath("verify", context.environment));
  return HistoryVerifier(session, quick, folder.path, context).Run();
}

}  // namespace wdelta
