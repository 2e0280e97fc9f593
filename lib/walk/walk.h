// The shape that every walk has. A target is a checkpoint that exists (NEW in `diff BASE NEW`) or one that deltas lead
// to; a walk goes over its blocks once, in the order in which they lie in its files, beside the blocks of the base, and
// computes the digests of both on the way. Walks that make a delta put what changed into a container, rebuilding walks
// put what results into a sink (rebuild.h), and verifying walks keep nothing.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "pack/container.h"
#include "reports.h"

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
  unsigned worker = 0;  // the thread that uses it
};

// By the target's name order.
struct WalkDigests {
  std::vector<TensorDigest> result;
  std::vector<TensorDigest> base;  // of the base's tensor of that name and form; all zero if there is none
};

// Targets stack: deltas are a target on top of another one, at the bottom of which lies the base.
class Target {
 public:
  virtual ~Target() = default;
  virtual const Layout& layout() const = 0;
  virtual const std::vector<Tensor>& tensors() const = 0;  // by name
  // Loads a block of tensors()[tensor]. May be called from several threads at once, each with its own scratch memory.
  virtual Result<LoadedBlock> Load(uint32_t tensor, uint64_t block, WalkScratch& scratch) const = 0;
  // Up to a block of a file: of a shard its header, of a companion all of it.
  virtual Result<Bytes> ReadFileBlock(size_t file, uint64_t number) const = 0;

  // After a walk: are these the digests that the target promises? kConflict or kIntegrity if they are not. False: the
  // walk has shown that the base already has some of the deltas; the target has taken note of that, and the walk has to
  // be repeated.
  virtual Result<bool> Accept(const WalkDigests& digests) = 0;
  // The message that people need for a failed walk. May read all of the base to find out what is wrong with it.
  virtual std::unique_ptr<Error> Explain(std::unique_ptr<Error> error, const Context& context) const;

  // The checkpoint that this target simply is; null for one that deltas lead to.
  virtual const Checkpoint* checkpoint() const { return nullptr; }
  // The base that the deltas were made for, and what changes between base and result, where the deltas say so; else
  // a walk has to find out.
  virtual std::optional<StateDigests> base() const { return std::nullopt; }
  virtual std::optional<Totals> totals() const { return std::nullopt; }
  // Whether a base that is half patched can be walked again. The deltas of other systems do not recognise such a block.
  virtual bool resumable() const { return true; }
};

// NEW, with BASE beside it; `base` may be null. Both must outlive it.
std::unique_ptr<Target> PairTarget(const Checkpoint* base, const Checkpoint& next);
// A checkpoint that is its own base, which must outlive it: the bottom of a stack.
std::unique_ptr<Target> SelfTarget(const Checkpoint& checkpoint);

// A target together with the checkpoint that lies below it; null if the deltas begin with an anchor.
struct OpenedTarget {
  std::unique_ptr<Checkpoint> base;
  std::unique_ptr<Target> target;
  uint64_t delta_bytes = 0;  // of the deltas as they were given
};

// Reads a file of the result to its end, block by block, and proves it by its SHA-256: kIntegrity if it is another.
Result<> ReadFile(const Target& target, size_t file,
                  const std::function<Result<>(uint64_t number, ByteSpan content)>& visit);

// What the work on a block hands over to be emitted in order.
struct WalkedBlock {
  PreparedBlock prepared;
  BlockDelta delta;
  uint64_t units_changed = 0;
  bool same = false, rebuilt = false;
  BlockDigest old_digest{}, new_digest{};
};

using BlockWork =
    std::function<Result<>(uint32_t tensor, const LoadedBlock& block, WalkScratch& scratch, WalkedBlock& out)>;
using BlockEmit = std::function<Result<>(uint32_t tensor, const WalkedBlock& block)>;

// Walks over all blocks of `target` until it accepts the outcome: work() in parallel, emit() in the order of the
// result's files. begin() is called before each walk, to begin counts and outputs anew. A failure is explained.
Result<WalkDigests> Walk(Target& target, const Context& context, const std::function<Result<>()>& begin,
                         const BlockWork& work, const BlockEmit& emit);

// The digests of these tensors of a checkpoint, which are sorted by name.
Result<std::vector<TensorDigest>> DigestTensors(const Checkpoint& checkpoint, std::vector<Tensor> tensors,
                                                const Context& context);
// The digests of all tensors of the base, by name: most were computed on the walk to `target`, the others (removed,
// reshaped, retyped) are read now.
Result<std::vector<TensorDigest>> DigestBase(const Checkpoint& base, const Target& target, const WalkDigests& walked,
                                             const Context& context);

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

}  // namespace wdelta
