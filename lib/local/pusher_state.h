// What a pusher keeps from one push to the next, in <parent>/.wdelta/push-<hash of the remote>. It lies beside the
// checkpoints (or beside the mirror), so that hard links work and rotation of checkpoints does not touch it:
//   state.json   which record the base is at; what the store was found to promise
//   base-STATE/  the checkpoint of the last push, by hard links or as a copy
//   spool.wdp    the pack that is being pushed, from before the source is released until all is done
//   spool.json   the record that it is to become
//   packs/       packs of other pushers, fetched to bring the base to their record
//   lock
// A push of versions for other systems (canonical/publish.h) has instead of the spool:
//   base.new/    the checkpoint that is being published, the next base
//   version/     its delta
#pragma once

#include <optional>

#include "core/file.h"
#include "core/state_file.h"
#include "reports.h"

namespace wdelta {

// A file of a checkpoint: where it lies, and its path relative to the checkpoint.
struct KeptFile {
  std::string from, path;
};

// A pack on its way: written when the pack is complete, removed when nothing needs the pack any more.
struct SpooledPush {
  std::string writer;  // the id of this push
  std::optional<uint64_t> step;
  std::string tag;
  Sha256Digest base_state{}, state{};
  uint64_t number = 0;  // of the record that it is to become, if no other push is faster
};

class PusherState {
 public:
  // `beside`: the source or the mirror, whose parent folder holds all this. Waits for the lock up to `lock_wait`
  // seconds (kBusy). The state of a mirror is remembered by the mirror's path, apart from that of the kept base.
  static Result<PusherState> Open(const std::string& beside, const std::string& remote_url, const std::string& mirror,
                                  double lock_wait, const StopToken& stop);

  const std::string& folder() const { return folder_; }
  std::string base_path() const { return BasePath(base_state()); }
  std::string spool_path() const { return folder_ + "/spool.wdp"; }
  std::string packs_path() const { return folder_ + "/packs"; }
  bool durable() const { return durable_; }

  // The state that the base (or the mirror) is in; all zero if it is not known.
  Sha256Digest base_state() const { return state_.Digest(base_key_); }
  Result<> SetBaseState(const Sha256Digest& state) { return Save(base_key_, state); }
  bool HasKeptBase() const;
  // Links or copies the files of a checkpoint to where they wait to become the kept base.
  Result<> PrepareBase(const std::vector<KeptFile>& files, KeepBase how) const;
  bool HasPreparedBase() const { return IsFolder(PreparedPath()); }
  void DropPreparedBase() const { RemoveTree(PreparedPath()); }
  // The same, and makes them the kept base, which is in `state`.
  Result<> ReplaceBase(const std::vector<KeptFile>& files, KeepBase how, const Sha256Digest& state);
  // Puts the checkpoint folder at `path` in the place of the kept base.
  Result<> ReplaceBase(const std::string& path, const Sha256Digest& state);

  // Whether the store was found to keep what a push relies on.
  bool store_was_checked() const { return state_.Has("create_if_absent"); }
  Result<> SetStoreChecked() { return Save("create_if_absent", "yes"); }

  // Of versions for other systems: what the kept base is called in the store; which version is being published, 0 for
  // none, the state that it has, and the digest of a file of it that no other version has.
  std::string published() const { return state_.Text("published"); }
  uint64_t publishing() const { return state_.Number("publishing"); }
  Sha256Digest publishing_proof() const { return state_.Digest("publishing_proof"); }
  // What the files of the version looked like from outside when they had been sent.
  Sha256Digest published_seal() const { return state_.Digest("published_seal"); }
  Sha256Digest published_proof() const { return state_.Digest("published_proof"); }
  Result<> SetPublishedSeal(const Sha256Digest& seal) { return Save("published_seal", seal); }
  Result<> SetPublishingSeal(const Sha256Digest& seal) { return Save("publishing_seal", seal); }
  Result<> SetPublishing(uint64_t version, const Sha256Digest& state, const Sha256Digest& proof);
  Result<> StopPublishing();
  // The newest whole version, as far as it is known; 0: it is not.
  uint64_t whole_version() const { return state_.Number("whole_version"); }
  void NoteWholeVersion(uint64_t version) { state_.Set("whole_version", version); }  // saved with what comes next
  // The version is published: the prepared base becomes the kept one, if there is any.
  Result<> FinishPublishing(const std::string& name);

  Result<std::optional<SpooledPush>> ReadSpool() const;
  Result<> WriteSpool(const SpooledPush& spool) const;
  void DropSpool() const;

 private:
  PusherState(std::string folder, File lock, StateFile state, bool durable)
      : folder_(std::move(folder)), lock_(std::move(lock)), state_(std::move(state)), durable_(durable) {}
  // Named by its state, so that a new base and the note that it is the one cannot disagree.
  std::string PreparedPath() const { return folder_ + "/base.new"; }
  std::string BasePath(const Sha256Digest& state) const { return folder_ + "/base-" + Hex(state).substr(0, 12); }
  template <class Value>
  Result<> Save(const std::string& key, const Value& value) {
    state_.Set(key, value);
    return SaveState();
  }
  Result<> SaveState() const { return state_.Write(folder_ + "/state.json", durable_); }

  std::string folder_;
  File lock_;
  StateFile state_;
  bool durable_;
  std::string base_key_ = "base_state";
};

// The files by which a trainer and a push tell each other whose turn it is with the source. Nothing is done where no
// name is given.
Result<> WaitForMarker(const std::string& path, const StopToken& stop);  // until the file is there
Result<> MarkReleased(const std::string& path);                          // creates it: the source may be overwritten

}  // namespace wdelta
