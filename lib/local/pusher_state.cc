#include "local/pusher_state.h"

#include <unistd.h>

#include <filesystem>

#include "core/folder_lock.h"
#include "core/free_space.h"

namespace wdelta {

namespace {

namespace fs = std::filesystem;

// The files of a checkpoint, by their paths relative to it; of a lone file its own name.
std::vector<std::pair<std::string, std::string>> FilesOf(const std::string& source, const Layout& layout) {
  std::vector<std::pair<std::string, std::string>> files;  // from, relative to
  for (size_t i = 0; i < layout.file_count(); ++i) {
    const std::string& path = layout.file(i).path;
    files.emplace_back(layout.lone_file ? source : source + "/" + path, path);
  }
  return files;
}

}  // namespace

Result<PusherState> PusherState::Open(const std::string& beside, const std::string& remote_url,
                                      const std::string& mirror, double lock_wait, const StopToken& stop) {
  const std::string hash = Hex(DigestSha256(AsBytes(remote_url))).substr(0, 12);
  // Absolute, because the parent of "." is not to be found in its name.
  const std::string place = fs::absolute(beside).lexically_normal().string();
  const std::string folder = ParentFolder(place) + "/.wdelta/push-" + hash;
  std::error_code failed;
  fs::create_directories(folder + "/packs", failed);
  if (failed) return SystemError("create", folder, failed.value());
  WD_ASSIGN(File lock, LockFolder(folder + "/lock", folder, lock_wait, stop));
  WD_ASSIGN(StateFile state, StateFile::Read(folder + "/state.json"));
  PusherState home(folder, std::move(lock), std::move(state), !IsInMemory(folder));
  RemoveTemporaries(folder);
  home.state_.Set("remote", remote_url);
  if (!mirror.empty()) home.base_key_ = "state of mirror " + fs::absolute(mirror).lexically_normal().string();
  return home;
}

bool PusherState::HasKeptBase() const {
  return fs::is_directory(base_path()) && base_state() != Sha256Digest{};
}

Result<> PusherState::SetBaseState(const Sha256Digest& state) {
  state_.Set(base_key_, state);
  return SaveState();
}

Result<> PusherState::SetStoreProved() {
  state_.Set("create_if_absent", "yes");
  return SaveState();
}

bool PusherState::HasPreparedBase() const {
  return fs::is_directory(PreparedPath());
}

Result<> PusherState::SetPublishing(uint64_t version, const Sha256Digest& state, const Sha256Digest& proof) {
  state_.Set("publishing", version);
  state_.Set("publishing_state", state);
  state_.Set("publishing_proof", proof);
  return SaveState();
}

Result<> PusherState::SetPublishingSeal(const Sha256Digest& seal) {
  state_.Set("publishing_seal", seal);
  return SaveState();
}

Result<> PusherState::SetPublishedSeal(const Sha256Digest& seal) {
  state_.Set("published_seal", seal);
  return SaveState();
}

Result<> PusherState::StopPublishing() {
  for (const char* key : {"publishing", "publishing_state", "publishing_proof", "publishing_seal"}) state_.Remove(key);
  RemoveTree(PreparedPath());
  return SaveState();
}

Result<> PusherState::FinishPublishing(const std::string& name) {
  const Sha256Digest state = state_.Digest("publishing_state");
  state_.Set("published_seal", state_.Digest("publishing_seal"));
  state_.Set("published_proof", publishing_proof());
  for (const char* key : {"publishing", "publishing_state", "publishing_proof", "publishing_seal", "published"}) {
    state_.Remove(key);
  }
  const std::string old_path = base_path();
  if (HasPreparedBase()) {
    state_.Set("published", name);  // saved together with the state of the base
    return ReplaceBase(PreparedPath(), state);
  }
  // None was to be kept, or a crash fell between its new name and this note.
  const bool is_renamed = state != base_state() && fs::is_directory(BasePath(state));
  if (is_renamed) state_.Set("published", name);
  WD_TRY(SetBaseState(is_renamed ? state : Sha256Digest{}));
  RemoveTree(old_path);
  return {};
}

Result<> PusherState::PrepareBase(const std::string& source, const Layout& layout, const std::string& how) const {
  const std::string fresh = PreparedPath();
  DropPreparedBase();
  for (const auto& [from, to] : FilesOf(source, layout)) {
    const fs::path target = fs::path(fresh) / to;
    std::error_code failed;
    fs::create_directories(target.parent_path(), failed);
    if (!failed && how == "copy") fs::copy_file(from, target, failed);
    // A link to what a symbolic link leads to: the snapshot folders of model hubs are made of those.
    if (!failed && how == "link") fs::create_hard_link(fs::canonical(from, failed), target, failed);
    if (!failed) continue;
    RemoveTree(fresh);
    return SystemError(how, from, failed.value());
  }
  return {};
}

Result<> PusherState::KeepBase(const std::string& source, const Layout& layout, const std::string& how,
                               const Sha256Digest& state) {
  WD_TRY(PrepareBase(source, layout, how));
  return ReplaceBase(PreparedPath(), state);
}

Result<> PusherState::ReplaceBase(const std::string& path, const Sha256Digest& state) {
  const std::string old_path = base_path(), new_path = BasePath(state);
  RemoveTree(new_path);
  WD_TRY(Rename(path, new_path, durable_));
  WD_TRY(SetBaseState(state));
  if (old_path != new_path) RemoveTree(old_path);
  return {};
}

Result<std::optional<Spool>> PusherState::ReadSpool() const {
  WD_ASSIGN(const StateFile file, StateFile::Read(folder_ + "/spool.json"));
  if (file.empty() || access(spool_path().c_str(), R_OK) != 0) return std::optional<Spool>();
  Spool spool;
  spool.writer = file.Text("writer");
  if (file.Has("step")) spool.step = file.Number("step");
  spool.tag = file.Text("tag");
  spool.base_state = file.Digest("base_state");
  spool.state = file.Digest("state");
  spool.number = file.Number("number");
  return std::optional<Spool>(std::move(spool));
}

Result<> PusherState::WriteSpool(const Spool& spool) const {
  StateFile file;
  file.Set("writer", spool.writer);
  if (spool.step) file.Set("step", *spool.step);
  if (!spool.tag.empty()) file.Set("tag", spool.tag);
  file.Set("base_state", spool.base_state);
  file.Set("state", spool.state);
  file.Set("number", spool.number);
  return file.Write(folder_ + "/spool.json", durable_);
}

void PusherState::DropSpool() const {
  unlink((folder_ + "/spool.json").c_str());
  unlink(spool_path().c_str());
}

}  // namespace wdelta
