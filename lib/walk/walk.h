// The shape that every walk has. A result side is a checkpoint that exists (NEW in `diff BASE NEW`) or one that a chain
// of deltas leads to; a walk goes over its blocks once, in the order in which they lie in its files, beside the blocks
// of the base, and computes the digests of both on the way. Outbound walks put what changed into a container, inbound
// walks put what results into files, and verifying walks keep nothing.
#pragma once

#include "pack/container.h"
#include "reports.h"
#include "stats/tally.h"

namespace wdelta {

// One block of the result with the block of the base beside it; its spans live in the scratch memory of a worker.
struct LoadedBlock {
  ByteSpan old_block, new_block;  // old: empty if the base has no tensor of that name, dtype and shape
  bool has_old = false;
  bool same = false;     // both are the same bytes
  bool rebuilt = false;  // the new one was made by decoding: the base did not have it
  BlockDigest old_digest{}, new_digest{};
};

struct WalkScratch {
  Bytes old_bytes, new_bytes;
  BlockDelta delta;
  unsigned worker = 0;  // whose it is, for what somebody keeps for each worker
};

class Target {
 public:
  virtual ~Target() = default;
  virtual const Layout& layout() const = 0;
  virtual const std::vector<Tensor>& tensors() const = 0;  // by name
  // Loads a block of tensors()[tensor]. May be called from several threads at once, each with its own scratch memory.
  virtual Result<LoadedBlock> Load(uint32_t tensor, uint64_t block, WalkScratch& scratch) const = 0;
  // Up to a block of a file: of a shard its header, of a companion all of it.
  virtual Result<Bytes> ReadFileBlock(size_t file, uint64_t number) const = 0;
};

// NEW, with BASE beside it; `base` may be null. Both must outlive it.
std::unique_ptr<Target> PairTarget(const Checkpoint* base, const Checkpoint& next);

// Reads a file of the result to its end, block by block, and proves it by its SHA-256: kIntegrity if it is another.
Result<> ReadFile(const Target& side, size_t file,
                  const std::function<Result<>(uint64_t number, ByteSpan content)>& visit);

// What the work on a block hands over to be emitted in order.
struct WalkedBlock {
  PreparedBlock prepared;
  BlockDelta delta;
  BlockTally tally;
  uint64_t units_changed = 0;
  bool same = false, rebuilt = false;
  BlockDigest old_digest{}, new_digest{};
};

// By the result's name order.
struct WalkDigests {
  std::vector<TensorDigest> result;
  std::vector<TensorDigest> base;  // of the base's tensor of that name and form; all zero if there is none
};

using BlockWork =
    std::function<Result<>(uint32_t tensor, const LoadedBlock& block, WalkScratch& scratch, WalkedBlock& out)>;
using BlockEmit = std::function<Result<>(uint32_t tensor, const WalkedBlock& block)>;

// For a walk that only proves.
Result<> KeepNothing(uint32_t tensor, const LoadedBlock& block, WalkScratch& scratch, WalkedBlock& out);
Result<> ForgetBlock(uint32_t tensor, const WalkedBlock& block);

// Goes over all blocks of `side`: work() in parallel, emit() in the order of the result's files.
Result<WalkDigests> Walk(const Target& side, const Context& context, const BlockWork& work, const BlockEmit& emit);

// The digests of these tensors of a checkpoint, which are sorted by name.
Result<std::vector<TensorDigest>> DigestTensors(const Checkpoint& checkpoint, std::vector<Tensor> tensors,
                                                const Context& context);
// Who a checkpoint is: reads all of it.
Result<StateDigests> DigestCheckpoint(const Checkpoint& checkpoint, const Context& context);

// Counts blocks of tensors in file order: the n-th block of the walk is block `number` of tensors[tensor].
class BlockOrder {
 public:
  explicit BlockOrder(std::span<const Tensor> tensors);
  struct Place {
    uint32_t tensor = 0;
    uint64_t number = 0;
  };
  uint64_t count() const { return count_; }
  uint64_t bytes() const { return bytes_; }
  Place operator[](uint64_t n) const;

 private:
  std::vector<uint32_t> order_;
  std::vector<uint64_t> first_;  // for each tensor in file order, its first block in the walk
  uint64_t count_ = 0, bytes_ = 0;
};

// Digests as the hexadecimal strings of a report.
Identity HexIdentity(const StateDigests& digests);

}  // namespace wdelta
