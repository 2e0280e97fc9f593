// The journal of a checkpoint that is patched in place. It lies in a hidden folder beside the files and makes every
// change of theirs either not yet begun or repeatable:
//   segment   new values of some blocks, complete and on disk before the first of these blocks is touched
//   new/      files that replace others or are added, built beside them
//   commit    the list of files to rename and remove, written when all else is done
//   pack      what the blocks become, if the caller could not give it a second time: a delta of another system fits the
//             base as it was, and not one that is half new
// A segment holds absolute values, so that replaying it mends a block that a crash left half written.
#pragma once

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
  // Keeps a copy of a pack until Commit.
  Result<> KeepPack(const File& pack) const;
  void Drop() const { RemoveTree(folder_); }

  // Notes the new values of `length` bytes at `offset` of a shard. Writes them through, as Flush does, when enough has
  // come together.
  Result<> Add(const std::string& shard, uint64_t offset, uint32_t length, unsigned unit, const BlockDelta& delta);
  // Makes the segment durable, then patches the files with it.
  Result<> Flush();

  // Creates a file of `bytes` bytes that will replace `path` of the checkpoint, or be added.
  Result<File> Stage(const std::string& path, uint64_t bytes) const;
  Result<File> Reopen(const std::string& path) const;
  // Puts the staged files into place and removes `removed`; then the journal itself is gone.
  Result<> Commit(const std::vector<std::string>& staged, const std::vector<std::string>& removed);

 private:
  Journal(std::string checkpoint, std::string folder, File lock, bool durable);
  std::string Target(const std::string& path) const;
  Result<> Replay() const;
  Result<> CarryOut() const;
  Result<> WriteAtomically(const std::string& name, ByteSpan content) const;

  std::string checkpoint_;  // a file or a folder
  std::string folder_;      // of the journal
  bool lone_file_;
  bool durable_;
  File lock_;
  std::optional<File> segment_;
  uint64_t segment_bytes_ = 0;
};

}  // namespace wdelta
