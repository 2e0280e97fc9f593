// Pulling: a folder follows a history. The cheapest packs are fetched and proved, a version is rebuilt from one that is
// there, and the link to the current version is switched.
#include <unistd.h>

#include <algorithm>

#include "canonical/canonical_pull.h"
#include "core/boundary.h"
#include "core/parallel.h"
#include "core/stopwatch.h"
#include "local/replica.h"
#include "local/sglang_marker.h"
#include "sync/record_info.h"
#include "sync/remote_history.h"
#include "sync/rollback_guard.h"
#include "sync/way_index.h"
#include "walk/in_place.h"
#include "wdelta.h"

namespace wdelta {

namespace {

class Puller {
 public:
  Puller(const PullRequest& request, const RemoteName& name, Remote& remote, Replica& replica, const Context& context)
      : request_(request),
        named_(name.given),
        revision_(name.revision),
        history_(remote),
        replica_(replica),
        context_(context) {}

  Result<PullReport> Run() {
    if (const ReplicaCopy* current = replica_.current()) report_.previous = current->number;
    WD_ASSIGN(const bool nothing_new, NothingNew());
    if (nothing_new) return Finish(true);
    WD_ASSIGN(target_, history_.Resolve(revision_));
    WD_TRY(CheckFresh());
    const ReplicaCopy* current = replica_.current();
    if (current && current->state == target_.state && !replica_.building()) {
      if (current->number != target_.number) WD_TRY(replica_.Relabel(target_));
      WD_TRY(RememberTarget());
      return Finish(true);
    }
    report_.update_exists = true;
    if (request_.check) return Describe();
    for (const ReplicaCopy& version : replica_.versions()) {  // it is here already
      if (version.state != target_.state || request_.plan) continue;
      WD_TRY(replica_.Adopt(replica_.PathOf(version), target_));
      WD_TRY(RememberTarget());
      return Finish(false);
    }
    WD_TRY(Rebuild());
    if (request_.plan) return Describe();
    return Finish(false);
  }
  // The number of the record that it goes for; 0: not known yet.
  uint64_t target() const { return target_.number; }

 private:
  // One request tells that there is nothing to do.
  Result<bool> NothingNew() {
    const ReplicaCopy* current = replica_.current();
    if (named_ || !current || replica_.building() || replica_.highest() != current->number) return false;
    if (replica_.url() != history_.remote().url()) return false;  // it may hold another history
    WD_ASSIGN(const News news, history_.LookPast(current->number));
    if (news.since == SinceThen::kWentBackwards && !request_.allow_rollback) {
      WD_ASSIGN(const uint64_t tip, history_.FindTip());
      return WentBackwards(history_.remote().url(), current->number, tip);
    }
    if (news.since != SinceThen::kSame) return false;
    WD_TRY(CheckAge(current->created));
    return replica_.mark().empty() || news.mark == replica_.mark();  // else the record was written anew
  }

  Result<> CheckAge(uint64_t created) const {
    return named_ ? Result<>() : wdelta::CheckAge(history_.remote().url(), created, request_.max_age);
  }

  // No other history, and none that went backwards or was written anew; what is asked for by name is always given.
  Result<> CheckFresh() {
    WD_ASSIGN(const auto record, history_.Read(target_.number));
    history_id_ = record->history;
    WD_TRY(CheckAge(target_.created));
    if (named_ || request_.allow_rollback || replica_.highest() == 0) return {};
    const std::string& url = history_.remote().url();
    if (history_id_ != replica_.history()) return OtherHistory(replica_.folder(), url);
    if (target_.number < replica_.highest()) return WentBackwards(url, replica_.highest(), target_.number);
    if (target_.number == replica_.highest() && target_.record != replica_.highest_record()) {
      return Rewritten(url, replica_.highest());
    }
    return {};
  }

  Result<> RememberTarget() {
    if (target_.number < replica_.highest() && !request_.allow_rollback) return {};
    std::string mark;
    if (!named_) {  // so that the next pull sees at a glance that it is still the same record
      WD_ASSIGN(const News news, history_.LookPast(target_.number));
      mark = news.mark;
    }
    return replica_.Remember(history_.remote().url(), history_id_, target_.number, target_.record, mark);
  }

  Result<> Rebuild() {
    for (unsigned attempt = 0;; ++attempt) {
      const std::optional<ReplicaCopy> victim = replica_.ToBePatched(request_.in_place, request_.keep);
      WD_ASSIGN(const Route plan, MakePlan(victim));
      if (request_.plan) return {};
      const bool patches = victim && plan.start > 0;
      if (victim && !patches && !request_.in_place) {  // its room is needed, and it was due for removal
        replica_.DropBuilding();
        WD_TRY(replica_.RemoveOld(std::max(2U, request_.keep) - 1));
      }
      WD_TRY(replica_.CheckSpace(plan.bytes + (patches ? uint64_t{64} << 20 : target_.bytes_total + (1 << 20))));
      WD_ASSIGN(const bool fetched, Fetch(plan));
      if (!fetched) continue;  // planned anew without what was not there
      Result<> built = patches ? Patch(*victim, plan) : Copy(plan);
      if (built.ok()) break;
      // A version that somebody has changed is no base. What else is there may do.
      const ErrorKind kind = built.error().kind;
      if ((kind != ErrorKind::kConflict && kind != ErrorKind::kNotFound) || attempt == 3) return built.TakeError();
      context_.note(built.error().message + "; building from something else");
      replica_.DropBuilding();
      spoilt_.push_back(plan.start);
    }
    WD_TRY(RememberTarget());
    WD_TRY(replica_.RemoveOld(request_.in_place ? 1 : request_.keep));
    KeepUsefulPacks();
    return {};
  }

  Result<Route> MakePlan(const std::optional<ReplicaCopy>& victim) {
    const auto have = [&](const RecordEntry& entry) {
      if (std::find(spoilt_.begin(), spoilt_.end(), entry.number) != spoilt_.end()) return false;
      if (victim) return entry.state == victim->state;
      if (base_state_ && *base_state_ == entry.state) return true;
      return std::any_of(replica_.versions().begin(), replica_.versions().end(),
                         [&](const ReplicaCopy& version) { return version.state == entry.state; });
    };
    if (!request_.base.empty() && !base_state_ && replica_.versions().empty()) {
      WD_ASSIGN(const FileChoice files, ChoiceOf(history_.remote(), target_, {}));
      WD_ASSIGN(const Checkpoint base, Checkpoint::Open(request_.base, files, context_.note));
      base_files_ = files;
      WD_ASSIGN(const Proof proof, ProveCheckpoint(base, context_));
      base_state_ = proof.state();
    }
    const bool has_any = victim || base_state_ || !replica_.versions().empty();
    WD_ASSIGN(input_, history_.GatherPlan(target_, {have, has_any, !missing_.empty()}));
    for (const RecordEntry& entry : input_.entries) {
      if (!named_ && !request_.allow_rollback && entry.number == replica_.highest() &&
          entry.record != replica_.highest_record()) {
        return Rewritten(history_.remote().url(), replica_.highest());
      }
    }
    const PackStore packs = replica_.packs();
    input_.cost = [this, packs](const Way& way) -> std::optional<uint64_t> {
      const auto same = [&](const Way& gone) { return gone.objects == way.objects; };
      if (std::any_of(missing_.begin(), missing_.end(), same)) return std::nullopt;
      return packs.MissingBytes(way);
    };
    WD_ASSIGN(const Route plan, FindRoute(input_));
    report_.plan.clear();
    for (const RouteWay& way : plan.ways) {
      report_.plan.push_back({way.way.from, way.to, way.way.bytes(), packs.MissingBytes(way.way)});
    }
    return plan;
  }

  // False: an object was not there, and another plan has to do without it.
  Result<bool> Fetch(const Route& plan) {
    const Stopwatch watch;
    const unsigned jobs = request_.transfer.jobs ? request_.transfer.jobs : 4;
    // A model that goes back and forth passes the same pack more than once; it is fetched once.
    std::vector<RouteWay> ways;
    for (const RouteWay& planned : plan.ways) {
      const bool again = std::any_of(ways.begin(), ways.end(), [&](const RouteWay& earlier) {
        return earlier.way.objects == planned.way.objects;
      });
      if (!again) ways.push_back(planned);
    }
    // Many small packs are fetched side by side, a few large ones each in several pieces.
    const unsigned packs_at_once = ways.size() < jobs ? 1 : jobs;
    Context quiet = context_;
    if (packs_at_once > 1) quiet.progress = [](const Progress&) {};
    Progress progress{0, plan.bytes};
    std::optional<size_t> gone;
    WD_TRY(RunOrdered<std::optional<uint64_t>>(
        ways.size(), {packs_at_once, packs_at_once, context_.stop},
        [&](uint64_t n, unsigned) -> Result<std::optional<uint64_t>> {
          uint64_t wire_bytes = 0;
          Result<> fetched =
              replica_.packs().Fetch(history_.remote(), ways[n].way, jobs / packs_at_once, quiet, &wire_bytes);
          if (!fetched.ok() && fetched.error().kind == ErrorKind::kNotFound) return std::optional<uint64_t>();
          if (!fetched.ok()) return fetched.TakeError();
          return std::optional(wire_bytes);
        },
        [&](uint64_t n, std::optional<uint64_t> wire_bytes) -> Result<> {
          if (!wire_bytes && !gone) gone = n;
          report_.wire_bytes += wire_bytes.value_or(0);
          progress.done_bytes += wire_bytes.value_or(0);
          if (packs_at_once > 1) context_.progress(progress);
          return {};
        }));
    report_.download_seconds += watch.seconds();
    if (!gone) return true;
    context_.note("the pack that leads to record " + std::to_string(ways[*gone].to) + " is no longer there");
    missing_.push_back(ways[*gone].way);
    return false;
  }

  Result<> CheckResult(const Proof& proof) const {
    if (proof.state() == target_.state) return {};
    Error error{ErrorKind::kIntegrity, "the packs of record " + std::to_string(target_.number) +
                                           " lead to another state than the record says"};
    error.expected = Hex(target_.state);
    error.found = Hex(proof.state());
    return error;
  }

  Result<> Patch(const ReplicaCopy& victim, const Route& route) {
    if (!replica_.building()) WD_TRY(replica_.BeginBuilding(victim));
    const Stopwatch watch;
    const std::string path = replica_.BuildingPath();
    WD_TRY(PrepareInPlace(path, replica_.durable(), context_));
    WD_ASSIGN(const OpenedTarget opened, OpenRoute(route, replica_.packs(), path, context_));
    WD_ASSIGN(const Rebuilt rebuilt, PatchInPlace(opened, path, replica_.durable(), context_));
    report_.apply_seconds += watch.seconds();
    WD_TRY(CheckResult(rebuilt.proof));
    return replica_.Adopt(path, target_);
  }

  Result<> Copy(const Route& route) {
    const std::string output = replica_.folder() + "/.wdelta/new";
    RemoveTree(output);
    std::string base = request_.base;
    for (const ReplicaCopy& version : replica_.versions()) {
      if (route.start > 0 && version.state == input_.entries[route.start - input_.entries.front().number].state) {
        base = replica_.PathOf(version);
      }
    }
    const Stopwatch watch;
    WD_ASSIGN(const OpenedTarget opened, OpenRoute(route, replica_.packs(), base, context_));
    WD_ASSIGN(const Rebuilt rebuilt, RebuildCopy(opened, output + "/", replica_.durable(), context_));
    report_.apply_seconds += watch.seconds();
    WD_TRY(CheckResult(rebuilt.proof));
    return replica_.Adopt(output, target_);
  }

  // Those that will bring the oldest version that is kept up to the current one, when it is its turn to be patched.
  void KeepUsefulPacks() const {
    std::vector<Way> ways;
    for (const RecordEntry& entry : input_.entries) {
      if (entry.delta && entry.number > replica_.versions().front().number) ways.push_back(*entry.delta);
    }
    replica_.packs().KeepOnly(ways);
  }

  Result<PullReport> Finish(bool up_to_date) {
    const ReplicaCopy* current = replica_.current();
    report_.up_to_date = up_to_date;
    report_.path = replica_.PathOf(*current);
    report_.record.number = current->number;
    report_.record.step = current->step;
    report_.record.created = current->created;
    report_.record.state = Hex(current->state);
    if (target_.number > 0) {
      WD_ASSIGN(const auto record, history_.Read(target_.number));
      report_.record = InfoOf(*record);
      WD_ASSIGN(const uint64_t tip, history_.FindTip());
      report_.lag_records = tip - std::min(tip, target_.number);
    }
    report_.retries = history_.remote().retries();
    return report_;
  }

  // Of what would be done.
  Result<PullReport> Describe() {
    WD_ASSIGN(const auto record, history_.Read(target_.number));
    report_.record = InfoOf(*record);
    report_.lag_records = target_.number - std::min(target_.number, report_.previous.value_or(0));
    return report_;
  }

  const PullRequest& request_;
  const bool named_;
  const Revision revision_;
  RemoteHistory history_;
  Replica& replica_;
  const Context& context_;
  PullReport report_;
  RecordEntry target_;
  std::string history_id_;
  std::optional<Sha256Digest> base_state_;
  FileChoice base_files_;
  std::vector<uint64_t> spoilt_;  // records whose local version is not what it should be
  std::vector<Way> missing_;      // that the store no longer has
  PlanInput input_;
};

// A history of ours, or where there is none the versions of another system.
Result<PullReport> FollowAny(const PullRequest& request, const RemoteName& name, Remote& remote, Replica& replica,
                             const Context& context) {
  if (FollowsVersions(replica, remote)) return PullVersions(request, name, remote, replica, context);
  for (unsigned attempt = 0;; ++attempt) {
    Puller puller(request, name, remote, replica, context);
    Result<PullReport> pulled = puller.Run();
    if (pulled.ok() || pulled.error().kind != ErrorKind::kNotFound) return pulled;
    const Result<uint64_t> tip = RemoteHistory(remote).FindTip();
    if (tip.ok() && *tip == 0) return PullVersions(request, name, remote, replica, context);
    // What led to the newest record may have been collected meanwhile. Then there is a newer one by now.
    if (name.given || attempt == 4 || !tip.ok() || *tip <= puller.target()) return pulled;
  }
}

Result<PullReport> DoPull(const PullRequest& request, const Context& context) {
  if (!request.marker.empty() && !request.in_place) {
    return Error{ErrorKind::kUsage, "a marker is kept only in a version that is patched in place", "add '--in-place'"};
  }
  WD_ASSIGN(const RemoteName name, ParseRemoteName(request.remote));
  WD_ASSIGN(const std::unique_ptr<Remote> remote, OpenRemote(name.url, request.transfer, context));
  const bool only_asks = request.check || request.plan;
  const bool exists = access((request.folder + "/.wdelta").c_str(), F_OK) == 0;
  // Who only asks changes nothing: for a folder that no pull has made an empty one stands in.
  const std::string folder = only_asks && !exists ? TemporaryPath("pull") : request.folder;
  Result<PullReport> report = [&]() -> Result<PullReport> {
    WD_ASSIGN(Replica replica, Replica::Open(folder, request.lock_wait, context.stop));
    std::optional<SglangMarker> marker;
    const bool has_marker = replica.current() && SglangMarker::IsIn(replica.PathOf(*replica.current()));
    if (!only_asks && request.in_place && (!request.marker.empty() || has_marker)) {
      WD_ASSIGN(marker, KeepMarker(replica, request.lock_wait, context));
    }
    Result<PullReport> followed = FollowAny(request, name, *remote, replica, context);
    if (!followed.ok()) {
      WD_TRY(replica.RestoreMarker());
      return followed;
    }
    const PullReport pulled = std::move(*followed);
    if (only_asks || !request.hook || !replica.hook_is_due()) return pulled;
    WD_TRY(request.hook(pulled));
    WD_TRY(replica.SetHookDue(false));
    return pulled;
  }();
  if (only_asks && !exists) RemoveTree(folder);
  return report;
}

}  // namespace

Result<PullReport> Pull(const PullRequest& request, const Context& context) {
  return Guarded(DoPull, request, context);
}

}  // namespace wdelta
