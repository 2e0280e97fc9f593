// The folder that `pull` keeps:
//   versions/<number>-<state12>/   copies: each holds exactly the files of a checkpoint
//   current                        a symbolic link to one of them
//   .wdelta/state.json             what is known about the copies, and about the store that they come from
//   .wdelta/packs/                 what was fetched for a pull that is not finished
//   .wdelta/new                    a copy that is being written
//   .wdelta/lock                   held by the kernel while a pull works here
// A copy may carry the marker of another program (sglang_marker.h), which is not part of the checkpoint.
//
// The link is the commit: it is replaced atomically, and only with a Proof of the copy that it then names. The state
// file says which copies there should be; it never says what their bytes are.
#pragma once

#include <optional>

#include "checkpoint/proof.h"
#include "core/file.h"
#include "core/state_file.h"
#include "core/stop.h"

namespace wdelta {

struct CopyLabel {
  uint64_t number = 0;
  std::optional<uint64_t> step;
  uint64_t created = 0;  // seconds since 1970
};

struct ReplicaCopy : CopyLabel {
  std::string name;      // of its folder
  Sha256Digest state{};  // that it was adopted with
};

// The highest record that was ever seen, so that a store that goes backwards is noticed.
struct SeenRecord {
  std::string url, history;  // where, and of which history
  uint64_t number = 0;       // 0: none yet
  Sha256Digest record{};     // all zero where there are no records
  std::string mark;          // what its object looked like from outside; empty: not known
};

class Replica {
 public:
  // Creates the folder if need be, waits for its lock up to `lock_wait` seconds (kBusy), and removes what an
  // interrupted pull cannot use any more.
  static Result<Replica> Open(const std::string& folder, double lock_wait, const StopToken& stop);

  const std::string& folder() const { return folder_; }
  bool durable() const { return durable_; }                           // false on a file system in memory
  const std::vector<ReplicaCopy>& copies() const { return copies_; }  // at rest, lowest number first
  const ReplicaCopy* current() const;                                 // null: none yet, or it is not at rest
  // A copy whose patching in place was begun and not finished: what it was before.
  const std::optional<ReplicaCopy>& unfinished() const { return unfinished_; }
  bool unfinished_is_current() const { return unfinished_ && unfinished_->name == current_name_; }
  std::string PathOf(const ReplicaCopy& copy) const { return folder_ + "/versions/" + copy.name; }
  std::string PacksPath() const { return folder_ + "/.wdelta/packs"; }
  std::string NewPath() const { return folder_ + "/.wdelta/new"; }

  SeenRecord seen() const;
  Result<> Remember(const SeenRecord& seen);

  // Whether the hook still has to run for the current copy.
  bool hook_is_due() const { return state_.Has("hook_due"); }
  Result<> SetHookDue(bool due);

  // Notes that `copy` is about to be patched, and takes its marker away. From now on it is not at rest.
  Result<> BeginPatching(const ReplicaCopy& copy);
  // Nothing of the unfinished copy was changed: it is at rest again, with its marker.
  Result<> EndPatching();

  // Gives the checkpoint of the proof, which lies somewhere in this folder, a place among the copies.
  Result<std::string> Keep(const Proof& proof, const CopyLabel& label);  // its path
  // The same, and makes it current. An unfinished copy that it was not made from by patching is removed.
  Result<> Adopt(const Proof& proof, const CopyLabel& label);
  // The current copy has the state of this record, too, and counts as that from now on.
  Result<> Relabel(const CopyLabel& label);

  // Copies carry a marker from now on.
  void SetMarked() { marked_ = true; }

  // The copies that have to go so that at most `most` are left, those with the lowest numbers first; never the current
  // one, nor the one at `base`.
  std::vector<ReplicaCopy> Surplus(size_t most, const std::string& base) const;
  Result<> Remove(const std::vector<ReplicaCopy>& copies);

 private:
  Replica(std::string folder, File lock, StateFile state, bool durable)
      : folder_(std::move(folder)), lock_(std::move(lock)), state_(std::move(state)), durable_(durable) {}
  Result<> Recover();
  void FindCopies();
  void Forget(const std::string& name);
  void RemoveForgotten();
  std::string NameFor(const Proof& proof, const CopyLabel& label);
  Result<> SaveState() const { return state_.Write(folder_ + "/.wdelta/state.json", durable_); }
  Result<> PointCurrentAt(const std::string& name) const;

  std::string folder_;
  File lock_;
  StateFile state_;
  bool durable_;
  bool marked_ = false;
  std::vector<ReplicaCopy> copies_;
  std::string current_name_;
  std::optional<ReplicaCopy> unfinished_;
};

// The current copy of the folder, without its lock; nullopt if it is not a folder that a pull keeps.
Result<std::optional<ReplicaCopy>> CurrentCopyIn(const std::string& folder);

}  // namespace wdelta
