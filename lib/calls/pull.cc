// Pull: a folder follows a history, or the versions of another system.
#include <unistd.h>

#include "canonical/canonical_lineage.h"
#include "core/boundary.h"
#include "local/hook.h"
#include "sync/follower.h"
#include "sync/history_lineage.h"
#include "sync/keep_marker.h"
#include "sync/record_info.h"
#include "sync/session.h"
#include "wdelta.h"

namespace wdelta {

namespace {

FollowOptions OptionsOf(const PullRequest& request, const Session& session) {
  FollowOptions options;
  options.wish = {session.revision(), session.named(), request.allow_rollback, request.max_age,
                  request.check || request.plan};
  options.build = {request.in_place, request.keep, request.base};
  options.check = request.check;
  options.plan = request.plan;
  return options;
}

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

PullReport ReportOf(const FollowReport& followed, const Replica& replica, const Remote& remote) {
  PullReport report;
  report.record = InfoOf(followed);
  if (followed.copy) report.path = replica.PathOf(*followed.copy);
  report.previous = followed.previous;
  report.up_to_date = followed.up_to_date;
  report.update_exists = followed.update_exists;
  for (const PlanStep& step : followed.plan)
    report.plan.push_back({step.from, step.to, step.bytes, step.missing_bytes});
  report.wire_bytes = followed.wire_bytes;
  report.retries = remote.retries();
  report.lag_records = followed.lag;
  report.download_seconds = followed.download_seconds;
  report.apply_seconds = followed.apply_seconds;
  return report;
}

// A folder goes on with what it follows. Otherwise a remote without a record holds the versions of another system, if
// anything.
Result<FollowReport> Follow(const PullRequest& request, Session& session, Replica& replica, const Context& context) {
  const FollowOptions options = OptionsOf(request, session);
  const SeenRecord seen = replica.seen();
  bool has_versions = CanonicalLineage::Follows(seen, session.remote());
  if (!has_versions && seen.url != session.url()) {
    WD_ASSIGN(const uint64_t records, session.history().FindTip());
    has_versions = records == 0;
  }
  if (!has_versions) {
    HistoryLineage history(session.history(), replica.PacksPath(), session.jobs(), context);
    return Follower(history, replica, options, context).Run();
  }
  CanonicalLineage versions(session.remote(), replica.PacksPath(), session.jobs(), context);
  return Follower(versions, replica, options, context).Run();
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
  WD_ASSIGN(const FollowReport followed, Follow(request, session, replica, context));
  const PullReport report = ReportOf(followed, replica, session.remote());
  if (only_asks || !request.hook || !replica.hook_is_due()) return report;
  WD_TRY(request.hook(report));
  WD_TRY(replica.SetHookDue(false));
  return report;
}

Result<PullReport> DoPull(const PullRequest& request, const Context& context) {
  if (!request.marker.empty() && !request.in_place) {
    return Error{ErrorKind::kUsage, "'--marker' needs '--in-place'"};
  }
  WD_ASSIGN(Session session, Session::Open(request.remote, request.transfer, context));
  // A question changes nothing: an empty folder stands in for one that no pull has made.
  const bool stands_in = (request.check || request.plan) && access((request.folder + "/.wdelta").c_str(), F_OK) != 0;
  if (!stands_in) return PullInto(request.folder, request, session, context);
  const std::string folder = TemporaryPath("pull", context.environment);
  Result<PullReport> report = PullInto(folder, request, session, context);
  RemoveTree(folder);
  return report;
}

}  // namespace

Result<PullReport> Pull(const PullRequest& request, const Context& context) {
  return Guarded(DoPull, request, context);
}

Result<> RunHook(const std::string& command, const std::vector<std::pair<std::string, std::string>>& variables,
                 const std::string& input, const Context& context) {
  return Guarded(RunShellCommand, command, variables, input, context);
}

}  // namespace wdelta
