// Where a pusher keeps what it needs from one push to the next, in <parent>/.wdelta/push-<hash of the remote>, beside
// the checkpoints (or beside the mirror), so that hard links work and rotation of checkpoints does not touch it:
//   state.json   which record the base is at; what the store was found to promise
//   base-STATE/  the checkpoint of the last push, by hard links or as a copy
//   spool.wdp    the pack that is being pushed, from before the source is released until all is done
//   spool.json   what it is
//   lock
// Who pushes versions for other systems (update_push.cc) has instead of the spool:
//   base.new/    the checkpoint that is being published, the next base
//   version/     its delta
#pragma once

#include "checkpoint/checkpoint.h"
#include "core/file.h"
#include "core/state_file.h"
#include "sync/object_transfer.h"
#include "wdelta.h"

namespace wdelta {

// A pack on its way: written when the pack is complete, removed when nothing needs the pack any more.
struct Spool {
  std::string writer;  // the id of this push
  std::optional<uint64_t> step;
  std::string tag;
  Sha256Digest base_state{}, state{};
  uint64_t number = 0;  // the record that it is to be, if nobody else is faster
};

class PusherState {
 public:
  // `beside`: the source or the mirror, whose parent folder holds the home. Waits for the lock.
  // A mirror's state is remembered by its path, apart from that of the kept base.
  static Result<PusherState> Open(const std::string& beside, const std::string& remote_url, const std::string& mirror,
                                  double lock_wait, const StopToken& stop);

  const std::string& folder() const { return folder_; }
  std::string base_path() const { return BasePath(base_state()); }
  std::string spool_path() const { return folder_ + "/spool.wdp"; }
  PackStore packs() const { return PackStore(folder_ + "/packs"); }
  bool durable() const { return durable_; }

  // The state that the base (or the mirror) is in; all zero if it is not known.
  Sha256Digest base_state() const { return state_.Digest(base_key_); }
  Result<> SetBaseState(const Sha256Digest& state);
  bool HasKeptBase() const;
  // Puts `source` in readiness to become the kept base. `how`: "link" or "copy".
  Result<> PrepareBase(const std::string& source, const Layout& layout, const std::string& how) const;
  bool HasPreparedBase() const;
  void DropPreparedBase() const { RemoveTree(PreparedPath()); }
  // Makes `source` the kept base.
  Result<> KeepBase(const std::string& source, const Layout& layout, const std::string& how, const Sha256Digest& state);
  // Puts the checkpoint folder at `path` in the place of the kept base.
  Result<> ReplaceBase(const std::string& path, const Sha256Digest& state);

  // What the store was found to do with create-if-absent.
  bool store_is_proved() const { return state_.Has("create_if_absent"); }
  Result<> SetStoreProved();

  // Of versions for other systems: what the kept base is called in the store; which version is being published, 0 for
  // none, the state that it has, and the digest of a file of it that no other version has.
  std::string published() const { return state_.Text("published"); }
  uint64_t publishing() const { return state_.Number("publishing"); }
  Sha256Digest publishing_proof() const { return state_.Digest("publishing_proof"); }
  // What the files of the version looked like from outside when they had been sent.
  Sha256Digest published_seal() const { return state_.Digest("published_seal"); }
  Sha256Digest published_proof() const { return state_.Digest("published_proof"); }
  Result<> SetPublishedSeal(const Sha256Digest& seal);
  Result<> SetPublishingSeal(const Sha256Digest& seal);
  Result<> SetPublishing(uint64_t version, const Sha256Digest& state, const Sha256Digest& proof);
  Result<> StopPublishing();
  // The newest whole version, as far as it is known; 0: it is not.
  uint64_t whole_version() const { return state_.Number("whole_version"); }
  void NoteWholeVersion(uint64_t version) { state_.Set("whole_version", version); }  // saved with what comes next
  // It is published: what was prepared becomes the base, if there is any.
  Result<> FinishPublishing(const std::string& name);

  Result<std::optional<Spool>> ReadSpool() const;
  Result<> WriteSpool(const Spool& spool) const;
  void DropSpool() const;

 private:
  PusherState(std::string folder, File lock, StateFile state, bool durable)
      : folder_(std::move(folder)), lock_(std::move(lock)), state_(std::move(state)), durable_(durable) {}
  // Named by its state, so that a new base and the note that it is the one cannot disagree.
  std::string PreparedPath() const { return folder_ + "/base.new"; }
  std::string BasePath(const Sha256Digest& state) const { return folder_ + "/base-" + Hex(state).substr(0, 12); }
  Result<> SaveState() const { return state_.Write(folder_ + "/state.json", durable_); }

  std::string folder_;
  File lock_;
  StateFile state_;
  bool durable_;
  std::string base_key_ = "base_state";
};

}  // namespace wdelta
