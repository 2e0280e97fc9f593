// The journal of a checkpoint that is patched in place. It lies in a hidden folder beside the files and makes every
// change of theirs either not yet begun or repeatable:
//   segment   new values of blocks, complete and on disk before the first of these blocks is touched
//   new/      files that replace others or are added, built beside them
//   ready     the list of files to rename and remove when the segment has been carried out
//   commit    the same list, when that is done
//   pack      only from earlier versions of wdelta: a pack that has to be applied to what is half patched
// A segment holds absolute values, so that replaying it mends a block that a crash left half written.
#pragma once

#include <optional>

#include "delta/tensor_delta.h"

namespace wdelta {

class Journal {
 public:
  // The journal of the checkpoint at `path`, a file or a folder. kBusy if another process works on it.
  static Result<Journal> Open(const std::string& path, bool durable);
  // Whether an interrupted run has left one.
  static bool Exists(const std::string& path);

  // Carries out a complete segment and a complete commit that an interrupted run left, and drops the rest. Only a pack
  // stays: its path, or empty.
  Result<std::string> Recover();
  void Drop() const { RemoveTree(folder_); }
  // After a failure: drops the journal unless the checkpoint needs it, because a byte of it may have been changed.
  void Abandon() const;

  // Notes the new values of `length` bytes at `offset` of a shard.
  Result<> Add(const std::string& shard, uint64_t offset, uint32_t length, unsigned unit, const BlockDelta& delta);
  uint64_t bytes() const { return segment_bytes_; }  // noted, and not yet carried out
  // Forgets what was noted.
  Result<> Clear();
  // Makes what was noted durable, then patches the files with it.
  Result<> Flush();

  // Creates a file of `bytes` bytes that will replace `path` of the checkpoint, or be added.
  Result<File> Stage(const std::string& path, uint64_t bytes) const;
  Result<File> Reopen(const std::string& path) const;
  // Patches the files with what was noted, puts the staged files into place and removes `removed`, as one change that
  // Recover completes; then the journal itself is gone.
  Result<> Commit(const std::vector<std::string>& staged, const std::vector<std::string>& removed);

 private:
  Journal(std::string checkpoint, std::string folder, File lock, bool durable);
  std::string Target(const std::string& path) const;
  Result<> PublishSegment();
  Result<> Replay() const;
  Result<> FinishSegment() const;
  Result<> CarryOut() const;

  std::string checkpoint_;  // a file or a folder
  std::string folder_;      // of the journal
  bool lone_file_;
  bool durable_;
  File lock_;
  std::optional<File> segment_;
  uint64_t segment_bytes_ = 0;
  bool has_begun_ = false;
};

}  // namespace wdelta
