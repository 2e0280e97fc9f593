#include "local/pusher_state.h"

#include <unistd.h>

#include <filesystem>

#include "local/replica.h"

namespace wdelta {

namespace {

namespace fs = std::filesystem;

Result<> CopyFile(const std::string& from, const std::string& to, bool durable) {
  WD_ASSIGN(const File file, File::OpenForRead(from));
  return CopyInto(file, to, durable);
}

Result<> LinkFile(const std::string& from, const std::string& to) {
  // A link to what a symbolic link leads to: the snapshot folders of model hubs are made of those.
  std::error_code failed;
  const fs::path real = fs::canonical(from, failed);
  if (!failed) fs::create_hard_link(real, to, failed);
  return failed ? SystemError("link", from, failed.value()) : Result<>();
}

}  // namespace

Result<PusherState> PusherState::Open(const std::string& beside, const std::string& remote_url,
                                      const std::string& mirror, double lock_wait) {
  const std::string hash = Hex(DigestSha256(AsBytes(remote_url))).substr(0, 12);
  // Absolute, because the parent of "." is not to be found in its name.
  const std::string place = fs::absolute(beside).lexically_normal().string();
  const std::string folder = ParentFolder(place) + "/.wdelta/push-" + hash;
  std::error_code failed;
  fs::create_directories(folder + "/packs", failed);
  if (failed) return SystemError("create", folder, failed.value());
  WD_ASSIGN(File lock, LockFolder(folder + "/lock", folder, lock_wait));
  WD_ASSIGN(StateFile state, StateFile::Read(folder + "/state.json"));
  PusherState home(folder, std::move(lock), std::move(state), !IsInMemory(folder));
  RemoveTemporaries(folder);
  home.state_.Set("remote", remote_url);
  if (!mirror.empty()) home.base_key_ = "state of mirror " + fs::absolute(mirror).lexically_normal().string();
  return home;
}

bool PusherState::HasKeptBase() const {
  std::error_code failed;
  return fs::is_directory(base_path(), failed) && base_state() != Sha256Digest{};
}

Result<> PusherState::SetBaseState(const Sha256Digest& state) {
  state_.Set(base_key_, state);
  return SaveState();
}

Result<> PusherState::SetStoreChecked() {
  state_.Set("create_if_absent", "yes");
  return SaveState();
}

bool PusherState::HasPreparedBase() const {
  std::error_code failed;
  return fs::is_directory(PreparedPath(), failed);
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
  std::error_code failed;
  const bool is_renamed = state != base_state() && fs::is_directory(BasePath(state), failed);
  if (is_renamed) state_.Set("published", name);
  WD_TRY(SetBaseState(is_renamed ? state : Sha256Digest{}));
  RemoveTree(old_path);
  return {};
}

// A copy is forced to disk before the state says that it is the base; a linked file was there before.
Result<> PusherState::PrepareBase(const std::vector<KeptFile>& files, KeepBase how) const {
  DropPreparedBase();
  for (const KeptFile& file : files) {
    const std::string to = PreparedPath() + "/" + file.path;
    std::error_code failed;
    fs::create_directories(ParentFolder(to), failed);
    Result<> kept = failed                   ? SystemError("create", ParentFolder(to), failed.value())
                    : how == KeepBase::kCopy ? CopyFile(file.from, to, durable_)
                                             : LinkFile(file.from, to);
    if (kept.ok()) continue;
    DropPreparedBase();
    return kept;
  }
  return {};
}

Result<> PusherState::ReplaceBase(const std::vector<KeptFile>& files, KeepBase how, const Sha256Digest& state) {
  WD_TRY(PrepareBase(files, how));
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

Result<std::optional<SpooledPush>> PusherState::ReadSpool() const {
  WD_ASSIGN(const StateFile file, StateFile::Read(folder_ + "/spool.json"));
  if (file.empty() || access(spool_path().c_str(), R_OK) != 0) return std::optional<SpooledPush>();
  SpooledPush spool;
  spool.writer = file.Text("writer");
  if (file.Has("step")) spool.step = file.Number("step");
  spool.tag = file.Text("tag");
  spool.base_state = file.Digest("base_state");
  spool.state = file.Digest("state");
  spool.number = file.Number("number");
  return std::optional<SpooledPush>(std::move(spool));
}

Result<> PusherState::WriteSpool(const SpooledPush& spool) const {
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
