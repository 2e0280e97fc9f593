#include "local/pusher_state.h"

#include <unistd.h>

#include "core/folder_lock.h"
#include "core/free_space.h"
#include "core/sleep.h"

namespace wdelta {

Result<PusherState> PusherState::Open(const std::string& beside, const std::string& remote_url,
                                      const std::string& mirror, double lock_wait, const StopToken& stop) {
  const std::string hash = Hex(DigestSha256(AsBytes(remote_url))).substr(0, 12);
  // Absolute, because the parent of "." is not to be found in its name.
  WD_ASSIGN(const std::string place, AbsolutePath(beside));
  const std::string folder = ParentFolder(place) + "/.wdelta/push-" + hash;
  WD_TRY(CreateFolders(folder + "/packs"));
  WD_ASSIGN(File lock, LockFolder(folder + "/lock", folder, lock_wait, stop));
  WD_ASSIGN(StateFile state, StateFile::Read(folder + "/state.json"));
  PusherState home(folder, std::move(lock), std::move(state), !IsInMemory(folder));
  RemoveTemporaries(folder);
  home.state_.Set("remote", remote_url);
  if (!mirror.empty()) {
    WD_ASSIGN(const std::string absolute, AbsolutePath(mirror));
    home.base_key_ = "state of mirror " + absolute;
  }
  return home;
}

bool PusherState::HasKeptBase() const {
  return IsFolder(base_path()) && base_state() != Sha256Digest{};
}

Result<> PusherState::SetPublishing(uint64_t version, const Sha256Digest& state, const Sha256Digest& proof) {
  state_.Set("publishing", version);
  state_.Set("publishing_state", state);
  state_.Set("publishing_proof", proof);
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
  const bool is_renamed = state != base_state() && IsFolder(BasePath(state));
  if (is_renamed) state_.Set("published", name);
  WD_TRY(SetBaseState(is_renamed ? state : Sha256Digest{}));
  RemoveTree(old_path);
  return {};
}

// A copy is forced to disk before the state says that it is the base; a linked file was there before.
Result<> PusherState::PrepareBase(const std::vector<KeptFile>& files, KeepBase how) const {
  const auto keep = [&](const std::string& from, const std::string& to) -> Result<> {
    WD_TRY(CreateFolders(ParentFolder(to)));
    if (how == KeepBase::kCopy) {
      WD_ASSIGN(const File file, File::OpenForRead(from));
      return CopyInto(file, to, durable_);
    }
    // A link to what a symbolic link leads to: the snapshot folders of model hubs are made of those.
    WD_ASSIGN(const std::string real, RealPath(from));
    return LinkFile(real, to);
  };
  DropPreparedBase();
  for (const KeptFile& file : files) {
    Result<> kept = keep(file.from, PreparedPath() + "/" + file.path);
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

Result<> WaitForMarker(const std::string& path, const StopToken& stop) {
  while (!path.empty() && access(path.c_str(), F_OK) != 0) {
    Result<> slept = SleepFor(0.05, stop);
    if (slept.ok()) continue;
    auto error = slept.TakeError();
    error->message += " while waiting for '" + path + "'";
    return error;
  }
  return {};
}

Result<> MarkReleased(const std::string& path) {
  if (path.empty()) return {};
  WD_ASSIGN(const std::unique_ptr<ByteSink> sink, OpenSink(path));
  return sink->Commit();
}

}  // namespace wdelta
