#include "canonical/canonical_lineage.h"

#include <algorithm>
#include <ctime>
#include <functional>
#include <numeric>

#include "canonical/publish_base.h"
#include "canonical/whole_version.h"
#include "core/path.h"
#include "core/text.h"
#include "foreign/foreign_target.h"
#include "sync/object_transfer.h"

namespace wdelta {

namespace {

constexpr std::string_view kRunMark = "run:";  // what stands in the place of a history's id
constexpr unsigned kFetchAttempts = 3;

struct VersionWay {
  uint64_t version = 0;
  std::vector<VersionFile> files;
  uint64_t bytes() const {
    return std::accumulate(files.begin(), files.end(), uint64_t{0},
                           [](uint64_t sum, const VersionFile& file) { return sum + file.bytes; });
  }
};

// The route to a version: a start (a whole version in the store, one on this machine, or the run's first model) and
// every delta after it. There are no shortcuts.
struct VersionRoute {
  uint64_t start = 0;
  std::optional<VersionWay> whole;  // absent: the start is here
  std::vector<VersionWay> deltas;   // rising
};

class CanonicalLineage final : public Lineage {
 public:
  CanonicalLineage(Remote& remote, std::string folder, unsigned jobs, const Context& context)
      : store_(remote), folder_(std::move(folder)), jobs_(JobsOrDefault(jobs)), context_(context) {}

  Result<Goal> Find(const Wish& wish, const SeenRecord*) override {
    WD_ASSIGN(const LatestVersion latest, store_.FindLatest());
    WD_ASSIGN(goal_, NumberOf(wish.revision, latest.pointer.version));
    only_asks_ = wish.only_asks;
    Goal goal;
    goal.newest = latest.pointer.version;
    goal.label.number = goal_;
    goal.label.created = static_cast<uint64_t>(std::time(nullptr));
    goal.seen.url = store_.remote().url();
    goal.seen.history = std::string(kRunMark) + latest.pointer.run;
    goal.seen.number = goal_;
    if (wish.max_age > 0 && !wish.named) {
      WD_ASSIGN(const std::optional<ObjectInfo> info, store_.remote().Stat(store_.KeyOf(goal_, kIndexFile)));
      goal.published = info ? static_cast<uint64_t>(info->modified) : 0;
    }
    return goal;
  }

  Result<bool> StillHas(const SeenRecord& seen) override {
    if (seen.mark.empty()) return true;
    WD_ASSIGN(const std::string mark, store_.MarkOf(seen.number));
    return mark.empty() || mark == seen.mark;  // a version that was removed is not the base of anything any more
  }

  Result<bool> IsGoal(const Base& copy, const SeenRecord& seen) override {
    if (copy.number != goal_) return false;
    if (seen.number >= goal_ || only_asks_) return true;
    // Another program says that it has brought the copy there.
    WD_ASSIGN(const bool is_right, HasChangesOfGoal(copy.path));
    if (is_right) return true;
    unlike_ = copy.path;
    return false;
  }

  Result<Plan> MakePlan(const std::vector<Base>& bases) override {
    const auto base_with = [&](uint64_t number) {
      const auto at = std::find_if(bases.begin(), bases.end(),
                                   [&](const Base& base) { return base.number == number && base.path != unlike_; });
      return at == bases.end() ? std::optional<size_t>() : static_cast<size_t>(at - bases.begin());
    };
    // What the user names is the model that the run began with.
    const auto given =
        std::find_if(bases.begin(), bases.end(), [](const Base& base) { return !base.number && !base.state; });
    const auto is_here = [&](uint64_t version) { return base_with(version).has_value(); };
    WD_ASSIGN(route_, FindRoute(is_here, given != bases.end()));
    Plan plan;
    if (!route_.whole) {
      const std::optional<size_t> base = base_with(route_.start);
      plan.base = base ? *base : static_cast<size_t>(given - bases.begin());
    }
    if (route_.whole) plan.steps.push_back({0, route_.start, route_.whole->bytes(), route_.whole->bytes()});
    uint64_t before = route_.start;
    for (const VersionWay& delta : route_.deltas) {
      plan.steps.push_back({std::exchange(before, delta.version), delta.version, delta.bytes(), delta.bytes()});
      // Few bytes of a delta tell about each changed element, and so does the journal.
      plan.patch_bytes += 2 * delta.bytes();
    }
    return plan;
  }

  Result<bool> Fetch(uint64_t* wire_bytes) override {
    for (unsigned attempt = 1;; ++attempt) {
      Result<> fetched = FetchOnce(wire_bytes);
      if (fetched.ok()) return true;
      if (fetched.error().kind != ErrorKind::kIntegrity || attempt == kFetchAttempts) return fetched.TakeError();
      context_.note(fetched.error().message + "; fetching again");  // damaged on the way, perhaps
      DropFetched();
    }
  }

  Result<std::optional<Proof>> FetchedWhole() override {
    if (!route_.whole) return std::optional<Proof>();
    WD_ASSIGN(Proof proof, UnwrapWholeVersion(FolderOf(route_.start), context_));
    return std::optional(std::move(proof));
  }

  Result<OpenedTarget> Open(const std::string& base) override {
    std::vector<std::string> paths;
    for (const VersionWay& delta : route_.deltas) paths.push_back(FolderOf(delta.version));
    return OpenTarget(base, paths, {}, Trust::kWhole, context_);
  }

  void DropFetched() override {
    const Result<std::vector<FolderEntry>> entries = ListFolder(folder_);
    if (!entries.ok()) return;
    for (const FolderEntry& entry : *entries) {
      if (VersionOfFolder(entry.name.substr(0, entry.name.find('.')))) RemoveTree(folder_ + "/" + entry.name);
    }
  }

  bool may_be_damaged() const override { return true; }
  Result<std::string> Mark(uint64_t number) override { return store_.MarkOf(number); }

 private:
  std::string FolderOf(uint64_t version) const { return folder_ + "/" + VersionFolder(version); }

  Result<uint64_t> NumberOf(const Revision& revision, uint64_t newest) const {
    const std::string& url = store_.remote().url();
    if (newest == 0) {
      return Error{ErrorKind::kNotFound, "the run at '" + url + "' has not published any version yet",
                   "version 0 is the model that it begins with"};
    }
    if (revision.kind == Revision::Kind::kHead && revision.value < newest) return newest - revision.value;
    const bool is_number = revision.kind == Revision::Kind::kNumber;
    if (is_number && revision.value > 0 && revision.value <= newest) return revision.value;
    return Error{
        ErrorKind::kNotFound,
        "'" + url + "' has the versions 1 to " + std::to_string(newest) + " of another system, and none of that name",
        "name one by its number, or as HEAD~3"};
  }

  Result<bool> HasChangesOfGoal(const std::string& path) {
    WD_ASSIGN(const CanonicalIndex index, store_.ReadIndex(goal_));
    if (!index.is_delta()) return true;
    WD_ASSIGN(const Checkpoint checkpoint, Checkpoint::Open(path, {}, context_.note));
    WD_ASSIGN(const std::string tensor,
              TensorUnlikeVersion(store_, goal_, index, checkpoint, FolderOf(goal_), jobs_, context_));
    if (tensor.empty()) return true;
    context_.note("'" + path + "' is not version " + VersionName(goal_) + ", although its marker says so: tensor '" +
                  Shorten(tensor) + "' differs; rebuilding it");
    return false;
  }

  // `is_here` is asked with each version, from the goal on backwards. `has_base`: the model that the run began with is
  // here. kNotFound: there is no route.
  Result<VersionRoute> FindRoute(const std::function<bool(uint64_t)>& is_here, bool has_base) {
    VersionRoute route;
    for (route.start = goal_; !is_here(route.start);) {
      const bool is_first = route.start == 0;
      if (is_first && !has_base) {
        return Error{ErrorKind::kNotFound,
                     "the versions of '" + store_.remote().url() +
                         "' begin with version 0, the model that the run started from, which is not in the store",
                     "name that checkpoint with '--base'"};
      }
      if (is_first) break;
      Result<CanonicalIndex> index = store_.ReadIndex(route.start);
      // A run may begin with a later version than 0; then the base is that.
      const bool is_gone = !index.ok() && index.error().kind == ErrorKind::kNotFound;
      if (is_gone && has_base && !route.deltas.empty()) break;
      if (!index.ok()) return index.TakeError();
      WD_ASSIGN(std::vector<VersionFile> files, store_.FilesOf(route.start, *index));
      if (!index->is_delta()) {
        route.whole = {route.start, std::move(files)};
        break;
      }
      route.deltas.push_back({route.start, std::move(files)});
      route.start = *VersionNumber(index->Value("base_version"));
    }
    std::reverse(route.deltas.begin(), route.deltas.end());
    return route;
  }

  Result<> FetchOnce(uint64_t* wire_bytes) {
    if (route_.whole) {
      WD_TRY(store_.Fetch(route_.start, route_.whole->files, FolderOf(route_.start), jobs_, context_, wire_bytes));
    }
    for (const VersionWay& delta : route_.deltas) {
      WD_TRY(store_.Fetch(delta.version, delta.files, FolderOf(delta.version), jobs_, context_, wire_bytes));
      WD_TRY(CheckSums(FolderOf(delta.version), context_.stop));
    }
    return {};
  }

  VersionStore store_;
  std::string folder_;
  unsigned jobs_;
  const Context& context_;
  bool only_asks_ = false;
  uint64_t goal_ = 0;
  VersionRoute route_;
  std::string unlike_;  // a copy that is not the goal, although its marker says so
};

}  // namespace

std::unique_ptr<Lineage> VersionsAsLineage(Remote& remote, const std::string& folder, unsigned jobs,
                                           const Context& context) {
  return std::make_unique<CanonicalLineage>(remote, folder, jobs, context);
}

bool FollowsVersions(const SeenRecord& seen, const Remote& remote) {
  return seen.history.starts_with(kRunMark) && seen.url == remote.url();
}

}  // namespace wdelta
