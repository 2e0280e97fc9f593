// Where a pusher keeps what it needs from one push to the next, in <parent>/.wdelta/push-<hash of the remote>, beside
// the checkpoints (or beside the mirror), so that hard links work and rotation of checkpoints does not touch it:
//   state.json   which record the base is at; what the store was found to promise
//   base-STATE/  the checkpoint of the last push, by hard links or as a copy
//   spool.wdp    the pack that is being pushed, from before the source is released until all is done
//   spool.json   what it is
//   lock
#pragma once

#include "base/file.h"
#include "object_transfer.h"
#include "state_file.h"
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

class PushHome {
 public:
  // `beside`: the source or the mirror, whose parent folder holds the home. Waits for the lock.
  // A mirror's state is remembered by its path, apart from that of the kept base.
  static Result<PushHome> Open(const std::string& beside, const std::string& remote_url, const std::string& mirror,
                               double lock_wait);

  const std::string& folder() const { return folder_; }
  std::string base_path() const { return BasePath(base_state()); }
  std::string spool_path() const { return folder_ + "/spool.wdp"; }
  PackStore packs() const { return PackStore(folder_ + "/packs"); }
  bool durable() const { return durable_; }

  // The state that the base (or the mirror) is in; all zero if it is not known.
  Sha256Digest base_state() const { return state_.Digest(base_key_); }
  Result<> SetBaseState(const Sha256Digest& state);
  bool HasKeptBase() const;
  // Makes `source` the kept base. `how`: "link" or "copy".
  Result<> KeepBase(const std::string& source, const Layout& layout, const std::string& how, const Sha256Digest& state);
  // Puts the checkpoint folder at `path` in the place of the kept base.
  Result<> ReplaceBase(const std::string& path, const Sha256Digest& state);

  // What the store was found to do with create-if-absent.
  bool store_is_proved() const { return state_.Has("create_if_absent"); }
  Result<> SetStoreProved();

  Result<std::optional<Spool>> ReadSpool() const;
  Result<> WriteSpool(const Spool& spool) const;
  void DropSpool() const;

 private:
  PushHome(std::string folder, File lock, StateFile state, bool durable)
      : folder_(std::move(folder)), lock_(std::move(lock)), state_(std::move(state)), durable_(durable) {}
  // Named by its state, so that a new base and the note that it is the one cannot disagree.
  std::string BasePath(const Sha256Digest& state) const { return folder_ + "/base-" + Hex(state).substr(0, 12); }
  Result<> SaveState() const { return state_.Write(folder_ + "/state.json", durable_); }

  std::string folder_;
  File lock_;
  StateFile state_;
  bool durable_;
  std::string base_key_ = "base_state";
};

}  // namespace wdelta
