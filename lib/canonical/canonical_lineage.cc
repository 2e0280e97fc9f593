#include "canonical/canonical_lineage.h"

#include <algorithm>
#include <ctime>

#include "canonical/whole_version.h"
#include "core/path.h"
#include "core/text.h"
#include "foreign/foreign_target.h"

namespace wdelta {

namespace {

constexpr std::string_view kRunMark = "run:";  // what stands in the place of a history's id
constexpr unsigned kDefaultJobs = 4, kFetchAttempts = 3;

}  // namespace

CanonicalLineage::CanonicalLineage(Remote& remote, std::string folder, unsigned jobs, const Context& context)
    : store_(remote), folder_(std::move(folder)), jobs_(jobs ? jobs : kDefaultJobs), context_(context) {}

bool CanonicalLineage::Follows(const SeenRecord& seen, const Remote& remote) {
  return seen.history.starts_with(kRunMark) && seen.url == remote.url();
}

Result<uint64_t> CanonicalLineage::NumberOf(const Revision& revision, uint64_t newest) const {
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

Result<Goal> CanonicalLineage::Find(const Wish& wish, const SeenRecord*) {
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

Result<bool> CanonicalLineage::StillHas(const SeenRecord& seen) {
  if (seen.mark.empty()) return true;
  WD_ASSIGN(const std::string mark, store_.MarkOf(seen.number));
  return mark.empty() || mark == seen.mark;  // a version that was removed is not the base of anything any more
}

Result<bool> CanonicalLineage::IsGoal(const Base& copy, const SeenRecord& seen) {
  if (copy.number != goal_) return false;
  if (seen.number >= goal_ || only_asks_) return true;
  // Another program says that it has brought the copy there.
  WD_ASSIGN(const bool is_right, HasChangesOfGoal(copy.path));
  if (is_right) return true;
  unlike_ = copy.path;
  return false;
}

Result<bool> CanonicalLineage::HasChangesOfGoal(const std::string& path) {
  WD_ASSIGN(const CanonicalIndex index, store_.ReadIndex(goal_));
  if (!index.is_delta()) return true;
  WD_ASSIGN(const std::vector<VersionFile> files, store_.FilesOf(goal_, index));
  uint64_t wire_bytes = 0;
  WD_TRY(store_.Fetch(goal_, files, FolderOf(goal_), jobs_, context_, &wire_bytes));
  WD_ASSIGN(const std::unique_ptr<ForeignDelta> delta, OpenForeign(FolderOf(goal_), context_.environment));
  WD_ASSIGN(const Checkpoint checkpoint, Checkpoint::Open(path, {}, context_.note));
  WD_ASSIGN(const std::string tensor, TensorUnlike(checkpoint, *delta, context_.stop));
  if (tensor.empty()) return true;
  context_.note("'" + path + "' is not version " + VersionName(goal_) + ", although its marker says so: tensor '" +
                Shorten(tensor) + "' differs; rebuilding it");
  return false;
}

Result<Plan> CanonicalLineage::MakePlan(const std::vector<Base>& bases) {
  const auto base_with = [&](uint64_t number) {
    const auto at = std::find_if(bases.begin(), bases.end(),
                                 [&](const Base& base) { return base.number == number && base.path != unlike_; });
    return at == bases.end() ? std::optional<size_t>() : static_cast<size_t>(at - bases.begin());
  };
  // What the user names is the model that the run began with.
  const auto given =
      std::find_if(bases.begin(), bases.end(), [](const Base& base) { return !base.number && !base.state; });
  const auto is_here = [&](uint64_t version) { return base_with(version).has_value(); };
  WD_ASSIGN(route_, FindRoute(store_, goal_, is_here, given != bases.end()));
  Plan plan;
  if (!route_.whole) {
    const std::optional<size_t> base = base_with(route_.start);
    plan.base = base ? *base : static_cast<size_t>(given - bases.begin());
  }
  plan.steps = route_.Steps();
  // Few bytes of a delta tell about each changed element, and so does the journal.
  for (const VersionWay& delta : route_.deltas) plan.patch_bytes += 2 * delta.bytes();
  return plan;
}

Result<bool> CanonicalLineage::Fetch(uint64_t* wire_bytes) {
  for (unsigned attempt = 1;; ++attempt) {
    Result<> fetched = FetchOnce(wire_bytes);
    if (fetched.ok()) return true;
    if (fetched.error().kind != ErrorKind::kIntegrity || attempt == kFetchAttempts) return fetched.TakeError();
    context_.note(fetched.error().message + "; fetching again");  // damaged on the way, perhaps
    DropFetched();
  }
}

Result<> CanonicalLineage::FetchOnce(uint64_t* wire_bytes) {
  if (route_.whole) {
    WD_TRY(store_.Fetch(route_.start, route_.whole->files, FolderOf(route_.start), jobs_, context_, wire_bytes));
  }
  for (const VersionWay& delta : route_.deltas) {
    WD_TRY(store_.Fetch(delta.version, delta.files, FolderOf(delta.version), jobs_, context_, wire_bytes));
    WD_TRY(CheckSums(FolderOf(delta.version), context_.stop));
  }
  return {};
}

Result<std::optional<Proof>> CanonicalLineage::FetchedWhole() {
  if (!route_.whole) return std::optional<Proof>();
  WD_ASSIGN(Proof proof, UnwrapWholeVersion(FolderOf(route_.start), context_));
  return std::optional(std::move(proof));
}

Result<OpenedTarget> CanonicalLineage::Open(const std::string& base) {
  std::vector<std::string> paths;
  for (const VersionWay& delta : route_.deltas) paths.push_back(FolderOf(delta.version));
  return OpenTarget(base, paths, {}, Trust::kWhole, context_);
}

void CanonicalLineage::DropFetched() {
  const Result<std::vector<FolderEntry>> entries = ListFolder(folder_);
  if (!entries.ok()) return;
  for (const FolderEntry& entry : *entries) {
    if (VersionOfFolder(entry.name.substr(0, entry.name.find('.')))) RemoveTree(folder_ + "/" + entry.name);
  }
}

}  // namespace wdelta
