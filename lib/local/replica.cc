#include "local/replica.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "core/folder_lock.h"
#include "core/free_space.h"
#include "core/path.h"
#include "core/text.h"
#include "local/sglang_marker.h"

namespace wdelta {

namespace {

// Keys of the state file that are about one copy end in " of NAME".
constexpr std::string_view kStateOf = "state of ", kNumberOf = "number of ", kStepOf = "step of ",
                           kCreatedOf = "created of ", kRemovalOf = "removal of ";
// Written when the patching of a copy begins: what it was until then.
constexpr const char *kPatchedNumber = "building", *kPatchedState = "building_state",
                     *kPatchedName = "building_in_place";

std::string Key(std::string_view what, const std::string& name) {
  return std::string(what) + name;
}

std::string CopyName(uint64_t number, const Sha256Digest& state) {
  return std::to_string(number) + "-" + Hex(state).substr(0, 12);
}

// "17-3fa9c2d1e0f4" -> 17
std::optional<uint64_t> NumberOf(const std::string& name) {
  return name.find('-') == std::string::npos ? std::nullopt : WholeNumber(name.substr(0, name.find('-')));
}

// Not one that a link leads to.
bool IsRealFolder(const std::string& path) {
  return IsFolder(path) && !IsLink(path);
}
// The last part of what a link says; empty if there is no link.
std::string NameInLink(const std::string& path) {
  const std::optional<std::string> target = LinkTarget(path);
  return target ? LastComponent(*target) : "";
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  const Result<std::vector<FolderEntry>> entries = ListFolder(folder);
  if (!entries.ok()) return names;
  for (const FolderEntry& entry : *entries) names.push_back(entry.name);
  return names;
}

std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// What the state file says about the copy of that name; nullopt: nothing.
std::optional<ReplicaCopy> KnownCopy(const StateFile& state, const std::string& name) {
  const std::optional<uint64_t> number = NumberOf(name);
  ReplicaCopy copy;
  copy.name = name;
  copy.state = state.Digest(Key(kStateOf, name));
  if (!number || copy.state == Sha256Digest{}) return std::nullopt;
  copy.number = state.Has(Key(kNumberOf, name)) ? state.Number(Key(kNumberOf, name)) : *number;
  if (state.Has(Key(kStepOf, name))) copy.step = state.Number(Key(kStepOf, name));
  copy.created = state.Number(Key(kCreatedOf, name));
  return copy;
}

}  // namespace

Result<Replica> Replica::Open(const std::string& folder, double lock_wait, const StopToken& stop) {
  for (const char* part : {"/versions", "/.wdelta/packs"}) WD_TRY(CreateFolders(folder + part));
  if (PathExists(folder + "/current") && !IsLink(folder + "/current")) {
    return Error{ErrorKind::kRefused, "'" + folder + "/current' is not a link that wdelta made",
                 "pull into another folder"};
  }
  WD_ASSIGN(File lock, LockFolder(folder + "/.wdelta/lock", folder, lock_wait, stop));
  WD_ASSIGN(StateFile state, StateFile::Read(folder + "/.wdelta/state.json"));
  Replica replica(folder, std::move(lock), std::move(state), !IsInMemory(folder));
  WD_TRY(replica.Recover());
  return replica;
}

Result<> Replica::Recover() {
  RemoveTemporaries(folder_ + "/.wdelta");
  RemoveTree(NewPath());
  RemoveTree(folder_ + "/.wdelta/building");  // earlier versions of wdelta patched a copy there
  current_name_ = NameInLink(folder_ + "/current");
  // A link among the copies is a crash in the middle of Adopt in place: it still leads to the folder, or the folder has
  // taken its place. Only those that the state knows are ours.
  for (const std::string& name : NamesIn(folder_ + "/versions")) {
    const std::string path = folder_ + "/versions/" + name;
    if (!IsLink(path) || !state_.Has(Key(kStateOf, name))) continue;
    const std::string target = NameInLink(path);
    if (name == current_name_ && IsRealFolder(folder_ + "/versions/" + target)) WD_TRY(PointCurrentAt(target));
    unlink(path.c_str());
  }
  RemoveForgotten();
  FindCopies();
  // Earlier versions of wdelta renamed the folder first and moved the link then.
  const bool dangles = !current_name_.empty() && !IsRealFolder(folder_ + "/versions/" + current_name_);
  if (!dangles || copies_.empty() || current_name_ != state_.Text(kPatchedName)) return {};
  WD_TRY(PointCurrentAt(copies_.back().name));
  FindCopies();
  return {};
}

void Replica::FindCopies() {
  copies_.clear();
  unfinished_.reset();
  const std::string patched = state_.Text(kPatchedName);
  for (const std::string& name : NamesIn(folder_ + "/versions")) {
    std::optional<ReplicaCopy> copy = KnownCopy(state_, name);
    if (!copy || !IsRealFolder(PathOf(*copy))) continue;
    if (name != patched) {
      copies_.push_back(*copy);
      continue;
    }
    copy->number = state_.Number(kPatchedNumber);
    copy->state = state_.Digest(kPatchedState);
    unfinished_ = copy;
  }
  std::sort(copies_.begin(), copies_.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  current_name_ = NameInLink(folder_ + "/current");
}

const ReplicaCopy* Replica::current() const {
  for (const ReplicaCopy& copy : copies_) {
    if (copy.name == current_name_) return &copy;
  }
  return nullptr;
}

SeenRecord Replica::seen() const {
  return {state_.Text("url"), state_.Text("history"), state_.Number("number"), state_.Digest("record"),
          state_.Text("mark")};
}

Result<> Replica::Remember(const SeenRecord& seen) {
  state_.Set("mark", seen.mark);
  state_.Set("url", seen.url);
  state_.Set("history", seen.history);
  state_.Set("number", seen.number);
  state_.Set("record", seen.record);
  return SaveState();
}

Result<> Replica::SetHookDue(bool due) {
  if (due == hook_is_due()) return {};
  due ? state_.Set("hook_due", "yes") : state_.Remove("hook_due");
  return SaveState();
}

Result<> Replica::BeginPatching(const ReplicaCopy& copy) {
  const std::string path = PathOf(copy);
  state_.Set(kPatchedNumber, copy.number);
  state_.Set(kPatchedState, copy.state);
  state_.Set(kPatchedName, copy.name);
  WD_TRY(SaveState());
  FindCopies();
  return SglangMarker::Clear(path, durable_);
}

Result<> Replica::EndPatching() {
  const ReplicaCopy copy = *unfinished_;
  if (marked_) WD_TRY(SglangMarker::Write(PathOf(copy), copy.number, durable_));
  for (const char* key : {kPatchedNumber, kPatchedState, kPatchedName}) state_.Remove(key);
  FindCopies();
  return SaveState();
}

// A copy of a history that was followed before may have the name; it is not touched until the link has moved.
std::string Replica::NameFor(const Proof& proof, const CopyLabel& label) {
  const std::string path = WithoutSlash(proof.path()), wanted = CopyName(label.number, proof.state());
  std::string name = wanted;
  const auto is_taken = [&](const std::string& place) {
    return (PathExists(place) || IsLink(place)) && !IsSameFile(path, place);
  };
  for (unsigned n = 2; is_taken(folder_ + "/versions/" + name); ++n) {
    name = wanted + "-" + std::to_string(n);
  }
  state_.Set(Key(kStateOf, name), proof.state());
  state_.Set(Key(kCreatedOf, name), label.created);
  for (const std::string_view key : {kNumberOf, kStepOf}) state_.Remove(Key(key, name));
  if (label.step) state_.Set(Key(kStepOf, name), *label.step);
  return name;
}

Result<std::string> Replica::Keep(const Proof& proof, const CopyLabel& label) {
  const std::string path = folder_ + "/versions/" + NameFor(proof, label);
  WD_TRY(SaveState());
  WD_TRY(Rename(WithoutSlash(proof.path()), path, durable_));
  FindCopies();
  return path;
}

Result<> Replica::Adopt(const Proof& proof, const CopyLabel& label) {
  const std::string path = WithoutSlash(proof.path());
  const std::string name = NameFor(proof, label);
  const std::string final_path = folder_ + "/versions/" + name;
  state_.Set("hook_due", "yes");  // before the switch: a crash right after it must not lose the hook
  WD_TRY(SaveState());
  if (marked_) WD_TRY(SglangMarker::Write(path, label.number, durable_));
  if (!marked_) SglangMarker::Remove(path);  // it would say what the copy was before
  const bool is_current = path == folder_ + "/versions/" + current_name_;
  if (is_current && path != final_path) {
    // `current` must lead to the folder at every moment: it follows a link with the new name, which the folder
    // replaces.
    if (symlink(current_name_.c_str(), final_path.c_str()) != 0) return SystemError("create", final_path, errno);
    WD_TRY(PointCurrentAt(name));
    if (renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, final_path.c_str(), RENAME_EXCHANGE) != 0) {
      unlink(final_path.c_str());  // a file system that cannot exchange two names
      WD_TRY(Rename(path, final_path, durable_));
    }
    if (IsLink(path)) unlink(path.c_str());
    if (durable_) WD_TRY(SyncFolder(folder_ + "/versions"));
  } else {
    if (path != final_path) WD_TRY(Rename(path, final_path, durable_));
    WD_TRY(PointCurrentAt(name));
  }
  // An unfinished copy that is still there under its name was not made into this one, and is worth nothing now.
  const std::string patched = state_.Text(kPatchedName);
  for (const char* key : {kPatchedNumber, kPatchedState, kPatchedName}) state_.Remove(key);
  if (!patched.empty() && patched != name && IsRealFolder(folder_ + "/versions/" + patched)) Forget(patched);
  FindCopies();
  state_.RemoveIf([&](const std::string& key) {  // what was known of copies that are gone
    const size_t of = key.find(" of ");
    if (of == std::string::npos || key.starts_with(kRemovalOf)) return false;
    return std::none_of(copies_.begin(), copies_.end(),
                        [&](const auto& copy) { return copy.name == std::string_view(key).substr(of + 4); });
  });
  WD_TRY(SaveState());
  RemoveForgotten();
  return {};
}

Result<> Replica::Relabel(const CopyLabel& label) {
  state_.Set(Key(kNumberOf, current_name_), label.number);
  state_.Set(Key(kCreatedOf, current_name_), label.created);
  state_.Remove(Key(kStepOf, current_name_));
  if (label.step) state_.Set(Key(kStepOf, current_name_), *label.step);
  FindCopies();
  if (marked_) WD_TRY(SglangMarker::Write(PathOf(*current()), label.number, durable_));
  return SaveState();
}

Result<> Replica::PointCurrentAt(const std::string& name) const {
  const std::string link = folder_ + "/.wdelta/current";
  unlink(link.c_str());
  if (symlink(("versions/" + name).c_str(), link.c_str()) != 0) return SystemError("create", link, errno);
  return Rename(link, folder_ + "/current", durable_);
}

std::vector<ReplicaCopy> Replica::Surplus(size_t most, const std::string& base) const {
  std::vector<ReplicaCopy> surplus;
  for (const ReplicaCopy& copy : copies_) {
    const bool stays = copy.name == current_name_ || PathOf(copy) == base;
    if (!stays && copies_.size() - surplus.size() > most) surplus.push_back(copy);
  }
  return surplus;
}

// First forgotten, then removed: half a copy is none. The state remembers what is to be removed, so that a crash
// between the two leaves nothing for ever, and nothing but our own copies is ever removed.
Result<> Replica::Remove(const std::vector<ReplicaCopy>& copies) {
  if (copies.empty()) return {};
  for (const ReplicaCopy& copy : copies) Forget(copy.name);
  WD_TRY(SaveState());
  RemoveForgotten();
  FindCopies();
  return SaveState();
}

void Replica::Forget(const std::string& name) {
  for (const std::string_view key : {kStateOf, kNumberOf, kStepOf, kCreatedOf}) state_.Remove(Key(key, name));
  state_.Set(Key(kRemovalOf, name), "begun");
}

void Replica::RemoveForgotten() {
  for (const std::string& name : NamesIn(folder_ + "/versions")) {
    const bool is_due = state_.Has(Key(kRemovalOf, name)) && name != NameInLink(folder_ + "/current");
    if (is_due) RemoveTree(folder_ + "/versions/" + name);
  }
  state_.RemoveIf([&](const std::string& key) {
    return key.starts_with(kRemovalOf) && !IsRealFolder(folder_ + "/versions/" + key.substr(kRemovalOf.size()));
  });
}

Result<std::optional<ReplicaCopy>> CurrentCopyIn(const std::string& folder) {
  const std::string state_path = folder + "/.wdelta/state.json", name = NameInLink(folder + "/current");
  if (name.empty() || !PathExists(state_path)) return std::optional<ReplicaCopy>();
  WD_ASSIGN(const StateFile state, StateFile::Read(state_path));
  std::optional<ReplicaCopy> copy = KnownCopy(state, name);
  if (!copy) copy.emplace().name = name;
  return copy;
}

}  // namespace wdelta
