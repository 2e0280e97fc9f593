// The folder that `pull` keeps:
//   versions/<number>-<state12>/   each holds exactly the files of a checkpoint
//   current                        a symbolic link to one of them
//   .wdelta/state.json             what is known about them
//   .wdelta/packs/                 packs that were fetched
//   .wdelta/building               a version on its way from one record to a later one
//   .wdelta/lock                   held by the kernel while a pull works here
// A version that is patched in place may carry the marker of another program (sglang_marker.h), which is no part of the
// checkpoint.
// The link is the commit: it is replaced atomically, after the version that it names was proved. Killed at any moment,
// a pull leaves the old or the new version current, and the next one finishes or clears away the rest.
#pragma once

#include <optional>

#include "core/file.h"
#include "core/free_space.h"
#include "core/state_file.h"
#include "sync/object_transfer.h"

namespace wdelta {

struct ReplicaCopy {
  std::string name;  // of its folder; empty while it is none
  uint64_t number = 0;
  Sha256Digest state{};
  std::optional<uint64_t> step;
  uint64_t created = 0;
};

class Replica {
 public:
  // Creates the folder if need be, waits for its lock up to `lock_wait` seconds (kBusy), and clears up what an
  // interrupted pull left.
  static Result<Replica> Open(const std::string& folder, double lock_wait, const StopToken& stop);

  const std::string& folder() const { return folder_; }
  bool durable() const { return durable_; }                               // false on a file system in memory
  const std::vector<ReplicaCopy>& versions() const { return versions_; }  // oldest first
  const ReplicaCopy* current() const;                                     // null: none yet
  // A version on its way: what it was when its rebuilding began.
  const std::optional<ReplicaCopy>& building() const { return building_; }
  std::string PathOf(const ReplicaCopy& version) const { return folder_ + "/versions/" + version.name; }
  // Where the version on its way lies.
  std::string BuildingPath() const;
  // The version that is to be patched into the next one; none: a copy has to be made.
  std::optional<ReplicaCopy> ToBePatched(bool in_place, unsigned keep) const;
  std::string PacksPath() const { return folder_ + "/.wdelta/packs"; }
  PackStore packs() const { return PackStore(PacksPath()); }

  // The highest record that was ever seen here, and its digest; of which history.
  std::string history() const { return state_.Text("history"); }
  uint64_t highest() const { return state_.Number("number"); }
  Sha256Digest highest_record() const { return state_.Digest("record"); }
  Result<> Remember(const std::string& url, const std::string& history, uint64_t number, const Sha256Digest& record,
                    const std::string& mark);
  // Where it was seen, and what that record's object looked like from outside; empty if that is not known.
  std::string url() const { return state_.Text("url"); }
  std::string mark() const { return state_.Text("mark"); }

  // Whether the hook still has to run for the current version.
  bool hook_is_due() const { return state_.Has("hook_due"); }
  Result<> SetHookDue(bool due);

  // Takes `version` out of the row of versions to be patched; in place it stays where it is.
  Result<> BeginBuilding(const ReplicaCopy& version);
  // The same with a checkpoint that lies elsewhere in this folder.
  Result<> BeginBuildingWith(const std::string& path, uint64_t number, const Sha256Digest& state);
  // It has come as far as this.
  Result<> BuildingReached(uint64_t number, const Sha256Digest& state);
  void DropBuilding();
  // Gives what lies at `path` its name among the versions, and makes it current.
  Result<> Adopt(const std::string& path, const RecordEntry& entry);
  // The current version is also the state of this record, and counts as that from now on.
  Result<> Relabel(const RecordEntry& entry);
  // From now on a version says in its marker which one it is.
  void SetMarked() { marked_ = true; }
  // After a failure: a version that was to be patched in place and was not touched says again which one it is.
  Result<> RestoreMarker() const;
  // Removes all but the `keep` newest versions; never the current one.
  Result<> RemoveOld(unsigned keep);

  // kLocalIo unless `bytes` more fit.
  Result<> CheckSpace(uint64_t bytes) const {
    return wdelta::CheckSpace(
        folder_, bytes, "make room, keep fewer versions ('--keep 1'), or patch the one there is with '--in-place'");
  }

 private:
  Replica(std::string folder, File lock, StateFile state, bool durable)
      : folder_(std::move(folder)), lock_(std::move(lock)), state_(std::move(state)), durable_(durable) {}
  std::string AsidePath() const { return folder_ + "/.wdelta/building"; }
  Result<> Recover();
  void RemoveUnknown() const;
  Result<> SwitchTo(const ReplicaCopy& version);
  Result<> FindVersions();
  Result<> SaveState() const { return state_.Write(folder_ + "/.wdelta/state.json", durable_); }
  Result<> PointCurrentAt(const std::string& name) const;

  std::string folder_;
  File lock_;
  StateFile state_;
  bool durable_;
  bool marked_ = false;
  bool was_patched_ = false;  // the current version is no longer what its name says
  std::vector<ReplicaCopy> versions_;
  std::string current_name_;
  std::optional<ReplicaCopy> building_;
};

// The current version of the folder, without its lock; nullopt if it is no folder that a pull keeps.
Result<std::optional<ReplicaCopy>> CurrentCopyIn(const std::string& folder);

}  // namespace wdelta
