// Pull: a folder follows a history, or the versions of another system.
#include <unistd.h>

#include "calls/inner.h"
#include "canonical/canonical_lineage.h"
#include "core/boundary.h"
#include "wdelta.h"

namespace wdelta {

// Of a record that was read all is known; else what the copy says, and what was found when it was rebuilt.
RecordInfo InfoOf(const FollowReport& followed) {
  if (followed.goal.record) return InfoOf(*followed.goal.record);
  RecordInfo info;
  info.number = followed.goal.label.number;
  if (followed.digests) info.fingerprint = Hex(followed.digests->fingerprint);
  if (followed.totals) info.totals = *followed.totals;
  if (!followed.copy) return info;
  info.number = followed.copy->number;
  info.step = followed.copy->step;
  info.created = followed.copy->created;
  info.state = Hex(followed.copy->state);
  return info;
}

// A folder goes on with what it follows. Otherwise a remote without a record holds the versions of another system, if
// anything.
Result<FollowReport> Follow(const FollowOptions& options, Session& session, Replica& replica, const Context& context) {
  const SeenRecord seen = replica.seen();
  bool has_versions = FollowsVersions(seen, session.remote());
  if (!has_versions && seen.url != session.url()) {
    WD_ASSIGN(const uint64_t records, session.history().FindTip());
    has_versions = records == 0;
  }
  const std::string packs = replica.PacksPath();
  const auto lineage = has_versions ? VersionsAsLineage(session.remote(), packs, session.jobs(), context)
                                    : HistoryAsLineage(session.history(), packs, session.jobs(), context);
  return FollowLineage(*lineage, replica, options, context);
}

namespace {

PullReport ReportOf(const FollowReport& followed, const Replica& replica, const Remote& remote) {
  PullReport report{followed, InfoOf(followed), "", remote.retries()};
  if (followed.copy) report.path = replica.PathOf(*followed.copy);
  return report;
}

Result<PullReport> PullInto(const std::string& folder, const PullRequest& request, Session& session,
                            const Context& context) {
  const bool only_asks = request.check || request.plan;
  WD_ASSIGN(Replica replica, Replica::Open(folder, request.lock_wait, context.stop));
  std::optional<SglangMarker> marker;
  const bool has_marker = replica.current() && SglangMarker::IsIn(replica.PathOf(*replica.current()));
  const bool had_marker = replica.unfinished_is_current() && SglangMarker::IsIn(replica.PathOf(*replica.unfinished()));
  if (!only_asks && request.in_place && (!request.marker.empty() || has_marker || had_marker)) {
    WD_ASSIGN(marker, KeepMarker(replica, request.lock_wait, context));
  }
  const FollowOptions options{{session.revision(), session.named(), request.allow_rollback, request.max_age, only_asks},
                              {request.in_place, request.keep, request.base},
                              request.check,
                              request.plan};
  WD_ASSIGN(const FollowReport followed, Follow(options, session, replica, context));
  const PullReport report = ReportOf(followed, replica, session.remote());
  if (only_asks || !request.hook || !replica.hook_is_due()) return report;
  WD_TRY(request.hook(report));
  WD_TRY(replica.SetHookDue(false));
  return report;
}

}  // namespace

Result<PullReport> Pull(const PullRequest& request, const Context& context) {
  return Guarded([&]() -> Result<PullReport> {
    if (!request.marker.empty() && !request.in_place) {
      return Error{ErrorKind::kUsage, "'--marker' needs '--in-place'"};
    }
    WD_ASSIGN(Session session, Session::Open(request.remote, request.transfer, context));
    // A question changes nothing: an empty folder stands in for one that no pull has made.
    const bool stands_in = (request.check || request.plan) && access((request.folder + "/.wdelta").c_str(), F_OK) != 0;
    if (!stands_in) return PullInto(request.folder, request, session, context);
    const TemporaryTree folder(TemporaryPath("pull", context.environment));
    return PullInto(folder.path, request, session, context);
  });
}

}  // namespace wdelta
