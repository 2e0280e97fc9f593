// One walk from a target into a sink: into nothing, which verifies; into a new checkpoint; into the journal of a
// checkpoint that is patched where it lies (in_place.h). What comes back is a proof.
#pragma once

#include "checkpoint/proof.h"
#include "walk/walk.h"

namespace wdelta {

// Where the blocks of a target go.
class Sink {
 public:
  virtual ~Sink() = default;
  // The checkpoint that has the result after Commit.
  virtual const std::string& path() const = 0;
  // Before each walk: what an earlier one put here is void.
  virtual Result<> Begin() { return {}; }
  // Whether the walk changes the files of the base while it reads them.
  virtual bool patches_base() const { return false; }
  // Up to a block of a file: of a shard its header, of a companion all of it.
  virtual Result<> WriteFile(size_t file, uint64_t number, ByteSpan content) = 0;
  // From several threads at once, in any order: what is to be done with a block that lives no longer than this call.
  virtual Result<> Take(const Tensor& tensor, const LoadedBlock& block, WalkScratch& scratch, WalkedBlock& out) = 0;
  // One after the other, in the order of the result's files.
  virtual Result<> Put(const Tensor& tensor, const WalkedBlock& block) = 0;
  // The walk was accepted. `changed`: some block or file is not what the base has.
  virtual Result<> Commit(bool changed) = 0;
};

// A sink for a new checkpoint at `path`, as CheckpointEditor creates it.
Result<std::unique_ptr<Sink>> CopySink(const std::string& path, const Layout& layout, bool durable);

struct Rebuilt {
  Proof proof;
  StateDigests base;             // all zero if there was none
  Totals totals;                 // what changed between base and result
  bool already_applied = false;  // the base was the result already, although a delta was given
};

// Walks `opened` into `sink` and commits it.
Result<Rebuilt> Rebuild(const OpenedTarget& opened, Sink& sink, const Context& context);
// The same into a new checkpoint at `path`.
Result<Rebuilt> RebuildCopy(const OpenedTarget& opened, const std::string& path, bool durable, const Context& context);
// Walks `opened`, keeps nothing, and returns the state that it leads to.
Result<StateDigests> VerifyTarget(const OpenedTarget& opened, const Context& context);

// Reads all of a checkpoint.
Result<Proof> ProveCheckpoint(const Checkpoint& checkpoint, const Context& context);

}  // namespace wdelta
