// A folder is brought along a route (update_route.h) to a version. A delta proves by its checksums what it changes; a
// whole version only if somebody has written a list of checksums beside it.
#include "canonical/canonical_pull.h"

#include <algorithm>

#include "canonical/version_route.h"
#include "canonical/whole_version.h"
#include "core/stopwatch.h"
#include "core/text.h"
#include "foreign/foreign_proof.h"
#include "foreign/open_target.h"
#include "sync/rollback_guard.h"
#include "walk/in_place.h"

namespace wdelta {

namespace {

constexpr std::string_view kRunMark = "run:";  // what stands in the place of a history's id
constexpr unsigned kDefaultJobs = 4;

class VersionPuller {
 public:
  VersionPuller(const PullRequest& request, const RemoteName& name, Remote& remote, Replica& replica,
                const Context& context)
      : request_(request), name_(name), store_(remote), replica_(replica), context_(context) {}

  Result<PullReport> Run() {
    if (const ReplicaCopy* current = replica_.current()) report_.previous = current->number;
    WD_ASSIGN(latest_, store_.FindLatest());
    run_ = std::string(kRunMark) + latest_.pointer.run;
    WD_TRY(ChooseTarget());
    WD_TRY(CheckFresh());
    const ReplicaCopy* current = replica_.current();
    if (follows_ && current && current->number == target_ && !replica_.building()) {
      if (replica_.highest() >= target_) return Finish(true);
      WD_ASSIGN(const bool is_right, ProveOthersWork(*current));
      if (is_right) {
        WD_TRY(Remember(target_));
        return Finish(true);
      }
      spoilt_.push_back(target_);
    }
    report_.update_exists = true;
    if (request_.check) return Describe();
    WD_TRY(CheckNotRewritten());
    for (const ReplicaCopy& version : replica_.versions()) {  // it is here already
      if (!IsHere(target_, std::nullopt) || version.number != target_ || request_.plan || replica_.building()) continue;
      WD_TRY(Adopt(replica_.PathOf(version), version.state));
      WD_TRY(Remember(target_));
      return Finish(false);
    }
    WD_TRY(Rebuild());
    return request_.plan ? Describe() : Finish(false);
  }

 private:
  const std::string& url() const { return store_.remote().url(); }
  std::string FolderOf(uint64_t version) const { return replica_.PacksPath() + "/" + VersionFolder(version); }

  Result<> ChooseTarget() {
    const uint64_t newest = latest_.pointer.version;
    if (newest == 0) {
      return Error{ErrorKind::kNotFound, "the run at '" + url() + "' has not published any version yet",
                   "version 0 is the model that it begins with"};
    }
    const Revision& revision = name_.revision;
    if (revision.kind == Revision::Kind::kHead && revision.value < newest) {
      target_ = newest - revision.value;
    } else if (revision.kind == Revision::Kind::kNumber && revision.value > 0 && revision.value <= newest) {
      target_ = revision.value;
    } else {
      return Error{
          ErrorKind::kNotFound,
          "'" + url() + "' holds versions 1 to " + std::to_string(newest) + " of another system, and none of that name",
          "name one by its number, or as HEAD~3"};
    }
    return {};
  }

  // No other run, and none that went backwards; what is asked for by name is always given.
  Result<> CheckFresh() {
    const bool may_refuse = !name_.given && !request_.allow_rollback;
    if (request_.max_age > 0 && !name_.given) {
      WD_ASSIGN(const std::optional<ObjectInfo> info, store_.remote().Stat(store_.KeyOf(target_, kIndexFile)));
      WD_TRY(CheckAge(url(), info ? static_cast<uint64_t>(info->modified) : 0, request_.max_age));
    }
    if (replica_.highest() == 0) return {};
    const bool backwards = latest_.pointer.version < replica_.highest();
    if (may_refuse && replica_.history() != run_) return OtherHistory(replica_.folder(), url());
    if (may_refuse && backwards) return WentBackwards(url(), replica_.highest(), latest_.pointer.version);
    // After a run has begun anew, or gone on from an earlier version, nothing that is here is what its number says.
    follows_ = replica_.history() == run_ && !backwards;
    return {};
  }

  // A run that went on from an earlier version writes the same numbers again. What one builds on has to be the same.
  Result<> CheckNotRewritten() {
    if (!follows_ || replica_.mark().empty()) return {};
    WD_ASSIGN(const std::string mark, store_.MarkOf(replica_.highest()));
    if (mark.empty() || mark == replica_.mark()) return {};  // removed: nobody builds on it any more
    if (!name_.given && !request_.allow_rollback) return Rewritten(url(), replica_.highest());
    follows_ = false;
    return {};
  }

  Result<> Remember(uint64_t version) {
    if (follows_ && version < replica_.highest() && !request_.allow_rollback) return {};
    WD_ASSIGN(const std::string mark, store_.MarkOf(version));
    return replica_.Remember(url(), run_, version, {}, mark);
  }

  // Another program says that it has brought the version to the target. The target's delta can tell.
  Result<bool> ProveOthersWork(const ReplicaCopy& version) {
    if (request_.check || request_.plan) return true;
    WD_ASSIGN(const CanonicalIndex index, store_.ReadIndex(target_));
    if (!index.is_delta()) return true;
    WD_ASSIGN(const std::vector<VersionFile> files, store_.FilesOf(target_, index));
    WD_TRY(store_.Fetch(target_, files, FolderOf(target_), kDefaultJobs, context_, &report_.wire_bytes));
    WD_ASSIGN(const std::unique_ptr<ForeignDelta> delta, OpenForeign(FolderOf(target_)));
    WD_ASSIGN(const Checkpoint checkpoint, Checkpoint::Open(replica_.PathOf(version), {}, context_.note));
    WD_ASSIGN(const std::string tensor, TensorUnlike(checkpoint, *delta, context_.stop));
    if (!tensor.empty()) {
      context_.note("'" + replica_.PathOf(version) + "' is not version " + VersionName(target_) +
                    ", whatever its marker says: tensor '" + Shorten(tensor) + "' is another one; building it anew");
    }
    return tensor.empty();
  }

  // ---- The way ----

  // Also asked of the versions that are kept, when none is to be patched.
  bool IsHere(uint64_t number, const std::optional<ReplicaCopy>& victim) const {
    if (!follows_ || std::find(spoilt_.begin(), spoilt_.end(), number) != spoilt_.end()) return false;
    if (victim) return victim->number == number;
    return std::any_of(replica_.versions().begin(), replica_.versions().end(),
                       [&](const ReplicaCopy& version) { return version.number == number; });
  }

  Result<> Rebuild() {
    const bool is_new_run = !follows_;  // then the numbers of the old versions mean nothing
    std::optional<Error> before;        // why the last attempt failed
    for (unsigned attempt = 0;; ++attempt) {
      const std::optional<ReplicaCopy> victim =
          follows_ ? replica_.ToBePatched(request_.in_place, request_.keep) : std::nullopt;
      const auto is_here = [&](uint64_t version) { return IsHere(version, victim); };
      Result<VersionRoute> found = FindRoute(store_, target_, is_here, !request_.base.empty());
      if (!found.ok() && before) return *before;  // nothing else is there to begin with
      WD_ASSIGN(const VersionRoute route, std::move(found));
      report_.plan = route.Rows();
      if (request_.plan) return {};
      const bool patches = victim && IsHere(route.start, victim) && !route.whole;
      if (victim && !patches) replica_.DropBuilding();
      Result<> fetched = Fetch(route);
      if (!fetched.ok() && (fetched.error().kind != ErrorKind::kIntegrity || attempt == 2)) return fetched;
      if (!fetched.ok()) {  // damaged on the way, perhaps
        context_.note(fetched.error().message + "; fetching again");
        RemoveFetched(0);
        continue;
      }
      Result<> built = patches ? Patch(*victim, route) : !route.whole ? Copy(route) : Unwrap(route);
      if (built.ok()) break;
      // Damaged on the way, or no longer what was fetched before: all of it once more. A version that somebody has
      // changed is no base: what else is there may do.
      const ErrorKind kind = built.error().kind;
      before = built.error();
      // The store's own whole version is no wrong base: one of the deltas is damaged.
      if (kind == ErrorKind::kConflict && route.whole) before->kind = ErrorKind::kIntegrity;
      if ((kind != ErrorKind::kIntegrity && kind != ErrorKind::kConflict) || attempt == 2) return *before;
      context_.note(built.error().message + "; trying again");
      RemoveFetched(0);
      if (kind == ErrorKind::kConflict) {
        replica_.DropBuilding();
        spoilt_.push_back(route.start);
      }
    }
    WD_TRY(Remember(target_));
    WD_TRY(replica_.RemoveOld(request_.in_place || is_new_run ? 1 : request_.keep));
    RemoveFetched(replica_.versions().front().number);
    return {};
  }

  Result<> Fetch(const VersionRoute& route) {
    const Stopwatch watch;
    const unsigned jobs = request_.transfer.jobs ? request_.transfer.jobs : kDefaultJobs;
    WD_TRY(replica_.CheckSpace(route.bytes()));
    if (route.whole) {
      WD_TRY(store_.Fetch(route.start, route.whole->files, FolderOf(route.start), jobs, context_, &report_.wire_bytes));
    }
    for (const VersionWay& delta : route.deltas) {
      WD_TRY(store_.Fetch(delta.version, delta.files, FolderOf(delta.version), jobs, context_, &report_.wire_bytes));
      WD_TRY(ProveFetched(FolderOf(delta.version), context_.stop));
    }
    report_.download_seconds += watch.seconds();
    return {};
  }

  // All versions but those after `last`: they will bring the oldest version that is kept up to date.
  void RemoveFetched(uint64_t last) const {
    const auto entries = ListFolder(replica_.PacksPath());
    if (!entries.ok()) return;  // they only take room
    for (const auto& [name, kind] : *entries) {
      const std::optional<uint64_t> version = VersionOfFolder(name.substr(0, name.find('.')));
      if (version && (last == 0 || *version <= last)) RemoveTree(replica_.PacksPath() + "/" + name);
    }
  }

  // ---- The version ----

  // In place if `output` is empty.
  Result<Sha256Digest> Apply(const std::string& base, const std::string& output, std::span<const VersionWay> deltas) {
    const Stopwatch watch;
    std::vector<std::string> paths;
    for (const VersionWay& delta : deltas) paths.push_back(FolderOf(delta.version));
    if (output.empty()) WD_TRY(PrepareInPlace(base, replica_.durable(), context_));
    WD_ASSIGN(const OpenedTarget opened, OpenTarget(base, paths, {}, Trust::kWhole, context_));
    WD_ASSIGN(const Rebuilt rebuilt, output.empty() ? PatchInPlace(opened, base, replica_.durable(), context_)
                                                    : RebuildCopy(opened, output, replica_.durable(), context_));
    report_.apply_seconds += watch.seconds();
    report_.record.fingerprint = Hex(rebuilt.proof.digests().fingerprint);
    report_.record.totals = rebuilt.totals;
    return rebuilt.proof.state();
  }

  Result<> Adopt(const std::string& path, const Sha256Digest& state) {
    RecordEntry entry;
    entry.number = target_;
    entry.created = static_cast<uint64_t>(std::time(nullptr));
    entry.state = state;
    return replica_.Adopt(path, entry);
  }

  Result<> Patch(const ReplicaCopy& victim, const VersionRoute& route) {
    if (!replica_.building()) WD_TRY(replica_.BeginBuilding(victim));
    return Advance(route);
  }

  // Brings the version that is being built to the target.
  Result<> Advance(const VersionRoute& route) {
    const std::string path = replica_.BuildingPath();
    if (!route.deltas.empty()) {
      WD_ASSIGN(const Sha256Digest state, Apply(path, "", route.deltas));
      WD_TRY(replica_.BuildingReached(route.deltas.back().version, state));
    }
    return Adopt(path, replica_.building()->state);
  }

  // A whole version is kept as what is being built, so that no crash makes it be fetched again.
  Result<> Unwrap(const VersionRoute& route) {
    const std::string folder = FolderOf(route.start);
    WD_TRY(UnwrapWholeVersion(folder, context_));
    StateDigests digests;
    {
      WD_ASSIGN(const Checkpoint checkpoint, Checkpoint::Open(folder, {}, context_.note));
      WD_ASSIGN(const Proof proof, ProveCheckpoint(checkpoint, context_));
      digests = proof.digests();
    }
    report_.record.fingerprint = Hex(digests.fingerprint);
    if (replica_.highest() == 0) {  // else what is here is of another run until all is done
      WD_TRY(Remember(route.start));
      follows_ = true;
    }
    WD_TRY(replica_.BeginBuildingWith(folder, route.start, digests.state));
    return Advance(route);
  }

  Result<> Copy(const VersionRoute& route) {
    const std::string output = replica_.folder() + "/.wdelta/new";
    RemoveTree(output);
    std::string base = request_.base;
    for (const ReplicaCopy& version : replica_.versions()) {
      if (!IsHere(route.start, std::nullopt) || version.number != route.start) continue;
      base = replica_.PathOf(version);
      if (route.deltas.empty()) return Adopt(base, version.state);  // it is what is wanted
    }
    WD_ASSIGN(const Checkpoint checkpoint, Checkpoint::Open(base, {}, [](const std::string&) {}));
    WD_TRY(replica_.CheckSpace(checkpoint.data_bytes() + (1 << 20)));
    WD_ASSIGN(const Sha256Digest state, Apply(base, output + "/", route.deltas));
    return Adopt(output, state);
  }

  // ---- What came of it ----

  Result<PullReport> Finish(bool up_to_date) {
    const ReplicaCopy* current = replica_.current();
    report_.up_to_date = up_to_date;
    report_.path = replica_.PathOf(*current);
    report_.record.number = current->number;
    report_.record.created = current->created;
    report_.record.state = Hex(current->state);
    report_.lag_records = latest_.pointer.version - target_;
    report_.retries = store_.remote().retries();
    return report_;
  }

  Result<PullReport> Describe() {
    report_.record.number = target_;
    report_.lag_records = target_ - std::min(target_, report_.previous.value_or(0));
    return report_;
  }

  const PullRequest& request_;
  const RemoteName& name_;
  VersionStore store_;
  Replica& replica_;
  const Context& context_;
  PullReport report_;
  LatestVersion latest_;
  std::string run_;
  uint64_t target_ = 0;
  bool follows_ = false;          // what is here is of this run
  std::vector<uint64_t> spoilt_;  // versions that are not what they should be
};

}  // namespace

bool FollowsVersions(const Replica& replica, const Remote& remote) {
  return replica.history().starts_with(kRunMark) && replica.url() == remote.url();
}

Result<PullReport> PullVersions(const PullRequest& request, const RemoteName& name, Remote& remote, Replica& replica,
                                const Context& context) {
  return VersionPuller(request, name, remote, replica, context).Run();
}

}  // namespace wdelta
