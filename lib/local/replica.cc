#include "local/replica.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "core/folder_lock.h"
#include "local/sglang_marker.h"
#include "walk/journal.h"

namespace wdelta {

namespace {

std::string CopyName(uint64_t number, const Sha256Digest& state) {
  return std::to_string(number) + "-" + Hex(state).substr(0, 12);
}

std::string StateKey(const std::string& name) {
  return "state of " + name;
}
std::string NumberKey(const std::string& name) {
  return "number of " + name;
}
std::string StepKey(const std::string& name) {
  return "step of " + name;
}
std::string CreatedKey(const std::string& name) {
  return "created of " + name;
}

// "17-3fa9c2d1e0f4" -> 17
std::optional<uint64_t> NumberOf(const std::string& name) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end == name.data() + name.size() || *end != '-') return std::nullopt;
  return number;
}

}  // namespace

Result<Replica> Replica::Open(const std::string& folder, double lock_wait, const StopToken& stop) {
  for (const char* part : {"/versions", "/.wdelta/packs"}) WD_TRY(CreateFolders(folder + part));
  if (PathExists(folder + "/current") && !IsLink(folder + "/current")) {
    return Error{ErrorKind::kRefused, "'" + folder + "/current' is not a link that wdelta made",
                 "pull into a folder of its own"};
  }
  WD_ASSIGN(File lock, LockFolder(folder + "/.wdelta/lock", folder, lock_wait, stop));
  WD_ASSIGN(StateFile state, StateFile::Read(folder + "/.wdelta/state.json"));
  Replica replica(folder, std::move(lock), std::move(state), !IsInMemory(folder));
  WD_TRY(replica.Recover());
  return replica;
}

Result<> Replica::FindVersions() {
  WD_ASSIGN(const std::vector<FolderEntry> entries, ListFolder(folder_ + "/versions"));
  versions_.clear();
  for (const auto& [name, kind] : entries) {
    const std::optional<uint64_t> number = NumberOf(name);
    const Sha256Digest state = state_.Digest(StateKey(name));
    if (!number || state == Sha256Digest{}) continue;
    ReplicaCopy& version = versions_.emplace_back();
    version.name = name;
    version.number = state_.Has(NumberKey(name)) ? state_.Number(NumberKey(name)) : *number;
    version.state = state;
    if (state_.Has(StepKey(name))) version.step = state_.Number(StepKey(name));
    version.created = state_.Number(CreatedKey(name));
  }
  std::sort(versions_.begin(), versions_.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  current_name_ = LastComponent(LinkTarget(folder_ + "/current").value_or(""));
  return {};
}

Result<> Replica::Recover() {
  WD_TRY(FindVersions());
  RemoveTemporaries(folder_ + "/.wdelta");
  RemoveUnknown();
  building_.reset();
  const std::string in_place = state_.Text("building_in_place");
  const bool is_there = PathExists(in_place.empty() ? AsidePath() : folder_ + "/versions/" + in_place);
  if (state_.Has("building") && is_there) {
    building_.emplace();
    building_->name = in_place;
    building_->number = state_.Number("building");
    building_->state = state_.Digest("building_state");
  } else if (is_there && in_place.empty()) {
    RemoveTree(AsidePath());  // of a run that did not get as far as to say what it was
  }
  // In place, a crash may fall between the new name of the version and the link to it.
  if (current() || current_name_.empty() || versions_.empty()) return {};
  current_name_ = versions_.back().name;
  return PointCurrentAt(current_name_);
}

// A version is forgotten before its files are removed; a crash between the two leaves the files.
void Replica::RemoveUnknown() const {
  if (state_.empty()) return;
  const auto entries = ListFolder(folder_ + "/versions");
  if (!entries.ok()) return;  // they only take room
  for (const auto& [name, kind] : *entries) {
    if (NumberOf(name) && !state_.Has(StateKey(name)) && name != current_name_)
      RemoveTree(folder_ + "/versions/" + name);
  }
}

const ReplicaCopy* Replica::current() const {
  for (const ReplicaCopy& version : versions_) {
    if (version.name == current_name_) return &version;
  }
  return nullptr;
}

Result<> Replica::Remember(const std::string& url, const std::string& history, uint64_t number,
                           const Sha256Digest& record, const std::string& mark) {
  state_.Set("mark", mark);
  state_.Set("url", url);
  state_.Set("history", history);
  state_.Set("number", number);
  state_.Set("record", record);
  return SaveState();
}

Result<> Replica::SetHookDue(bool due) {
  if (due == hook_is_due()) return {};
  due ? state_.Set("hook_due", "yes") : state_.Remove("hook_due");
  return SaveState();
}

Result<> Replica::BeginBuilding(const ReplicaCopy& version) {
  const bool in_place = version.name == current_name_;
  building_ = version;
  if (!in_place) building_->name.clear();
  state_.Set("building", version.number);
  state_.Set("building_state", version.state);
  if (in_place) state_.Set("building_in_place", version.name);
  WD_TRY(SaveState());
  if (!in_place) return Rename(PathOf(version), AsidePath(), durable_);
  return marked_ ? SglangMarker::Clear(PathOf(version), durable_) : Result<>();
}

Result<> Replica::BeginBuildingWith(const std::string& path, uint64_t number, const Sha256Digest& state) {
  RemoveTree(AsidePath());
  building_.emplace();
  state_.Remove("building_in_place");
  WD_TRY(BuildingReached(number, state));
  return Rename(path, AsidePath(), durable_);
}

std::string Replica::BuildingPath() const {
  return building_->name.empty() ? AsidePath() : PathOf(*building_);
}

Result<> Replica::RestoreMarker() const {
  if (!marked_ || !current() || was_patched_) return {};
  // Nor is one that an earlier run has brought further.
  if (state_.Has("building_in_place") && state_.Number("building") != current()->number) return {};
  const std::string path = PathOf(*current());
  if (Journal::Exists(path)) return {};  // it is half patched
  return SglangMarker::Write(path, current()->number, durable_);
}

Result<> Replica::BuildingReached(uint64_t number, const Sha256Digest& state) {
  was_patched_ = was_patched_ || !building_->name.empty();
  building_->number = number;
  building_->state = state;
  state_.Set("building", number);
  state_.Set("building_state", state);
  return SaveState();
}

void Replica::DropBuilding() {
  if (building_ && building_->name.empty()) RemoveTree(AsidePath());
  building_.reset();
  static_cast<void>(FindVersions());  // it is none of them any more; that they can be listed was seen before
}

Result<> Replica::Adopt(const std::string& path, const RecordEntry& entry) {
  ReplicaCopy version;
  version.name = CopyName(entry.number, entry.state);
  // A version of a history that was followed before may have the name; it is not touched until the link has moved.
  for (unsigned n = 2; PathExists(PathOf(version)) && !IsSameFile(path, PathOf(version)); ++n) {
    version.name = CopyName(entry.number, entry.state) + "-" + std::to_string(n);
  }
  state_.Set(StateKey(version.name), entry.state);
  state_.Set(CreatedKey(version.name), entry.created);
  if (entry.step) state_.Set(StepKey(version.name), *entry.step);
  state_.Set("hook_due", "yes");  // before the switch: a crash right after it must not lose the hook
  WD_TRY(SaveState());
  if (marked_) WD_TRY(SglangMarker::Write(path, entry.number, durable_));
  if (!marked_) SglangMarker::Remove(path);  // it would say what the version was before
  WD_TRY(Rename(path, PathOf(version), durable_));
  building_.reset();
  return SwitchTo(version);
}

Result<> Replica::PointCurrentAt(const std::string& name) const {
  const std::string link = folder_ + "/.wdelta/current";
  unlink(link.c_str());
  if (symlink(("versions/" + name).c_str(), link.c_str()) != 0) return SystemError("create", link, errno);
  return Rename(link, folder_ + "/current", durable_);
}

// After Adopt has said so in the state.
Result<> Replica::SwitchTo(const ReplicaCopy& version) {
  WD_TRY(PointCurrentAt(version.name));
  for (const char* key : {"building", "building_state", "building_in_place"}) state_.Remove(key);
  WD_TRY(FindVersions());
  // What was known of versions that are gone.
  state_.RemoveIf([&](const std::string& key) {
    const size_t of = key.find(" of ");
    return of != std::string::npos && std::none_of(versions_.begin(), versions_.end(), [&](const auto& each) {
             return each.name == std::string_view(key).substr(of + 4);
           });
  });
  return SaveState();
}

Result<> Replica::Relabel(const RecordEntry& entry) {
  state_.Set(NumberKey(current_name_), entry.number);
  state_.Set(CreatedKey(current_name_), entry.created);
  state_.Remove(StepKey(current_name_));
  if (entry.step) state_.Set(StepKey(current_name_), *entry.step);
  WD_TRY(FindVersions());
  if (marked_) WD_TRY(SglangMarker::Write(PathOf(*current()), entry.number, durable_));
  return SaveState();
}

std::optional<ReplicaCopy> Replica::ToBePatched(bool in_place, unsigned keep) const {
  if (building_) return building_;
  const ReplicaCopy* newest = current();
  if (in_place) return newest ? std::optional(*newest) : std::nullopt;
  if (versions_.size() < std::max(2U, keep)) return std::nullopt;
  for (const ReplicaCopy& version : versions_) {
    if (!newest || version.name != newest->name) return version;
  }
  return std::nullopt;
}

Result<> Replica::RemoveOld(unsigned keep) {
  std::vector<ReplicaCopy> removable;
  for (const ReplicaCopy& version : versions_) {
    if (version.name != current_name_) removable.push_back(version);
  }
  const size_t kept = keep > 0 ? keep - 1 : 0;  // beside the current one
  removable.resize(removable.size() - std::min(kept, removable.size()));
  for (const ReplicaCopy& version : removable) {
    for (const auto& key : {StateKey, NumberKey, StepKey, CreatedKey}) state_.Remove(key(version.name));
  }
  WD_TRY(SaveState());  // first forgotten, then removed: half a version is none
  for (const ReplicaCopy& version : removable) RemoveTree(PathOf(version));
  WD_TRY(FindVersions());
  return {};
}

Result<std::optional<ReplicaCopy>> CurrentCopyIn(const std::string& folder) {
  const std::string state_path = folder + "/.wdelta/state.json";
  const std::optional<std::string> link = LinkTarget(folder + "/current");
  if (!link || !PathExists(state_path)) return std::optional<ReplicaCopy>();
  WD_ASSIGN(const StateFile state, StateFile::Read(state_path));
  ReplicaCopy version;
  version.name = LastComponent(*link);
  version.number = NumberOf(version.name).value_or(0);
  version.state = state.Digest(StateKey(version.name));
  return std::optional(std::move(version));
}

}  // namespace wdelta
