// What deltas of other systems lead to, one after the other, as a target that a walk can go over: the tensors of what
// is below, some of them patched by the deltas' streams. Streams run front to back, so the blocks of a patched tensor
// are loaded in their order, however many threads ask; all else is read at the same time.
//
// Such a delta does not say what its base was. It has at most a checksum of each tensor that it makes, and that is
// compared after the walk. A base may already have some of the deltas, and an XOR that is applied twice undoes itself:
// the checksums of what is below tell which deltas each tensor has, and the walk is then repeated without them.
#pragma once

#include <condition_variable>
#include <mutex>

#include "foreign/foreign_parts.h"
#include "walk/chain.h"

namespace wdelta {

class ForeignTarget final : public Target {
 public:
  using Deltas = std::vector<std::unique_ptr<ForeignDelta>>;

  // Fails with kConflict if `before` does not have the tensors of the deltas. `note` is told if the base has some of
  // them already.
  static Result<std::unique_ptr<Target>> Open(std::unique_ptr<Target> before, Deltas deltas, NoteSink note);

  const Layout& layout() const override { return before_->layout(); }
  const std::vector<Tensor>& tensors() const override { return before_->tensors(); }
  Result<LoadedBlock> Load(uint32_t tensor, uint64_t block, WalkScratch& scratch) const override;
  Result<Bytes> ReadFileBlock(size_t file, uint64_t number) const override {
    return before_->ReadFileBlock(file, number);
  }
  Result<bool> Accept(const WalkDigests& digests) override;
  bool resumable() const override { return false; }

 private:
  struct TensorPatch;
  struct PatchedTensor;
  // For each tensor, how many of the deltas that touch it are applied already.
  using Applied = std::vector<size_t>;

  ForeignTarget(std::unique_ptr<Target> before, Deltas deltas, NoteSink note);
  Result<> PrepareWalk();
  Result<Applied> CountApplied() const;
  static Result<> ApplyBlock(const Tensor& tensor, PatchedTensor& patched, uint64_t block, MutableByteSpan bytes);

  std::unique_ptr<Target> before_;
  Deltas deltas_;
  NoteSink note_;
  Applied applied_;
  std::vector<std::shared_ptr<PatchedTensor>> patched_;  // for each tensor of the result; null: it stays
  mutable std::mutex mutex_;
  mutable std::condition_variable turn_;
  mutable std::optional<Error> failure_;  // the first; nothing is applied after it
};

// Opens `deltas`, ours and those of other systems, in this order, for the checkpoint at `base`. Where `base` is itself
// a pack, it is the first delta and has to be an anchor. Our own deltas say which files belong to the base; without
// them `files` does. A delta without checksums is named in a note. kConflict: a foreign delta is not made for the
// version that the one before leads to.
Result<OpenedTarget> OpenTarget(const std::string& base, const std::vector<std::string>& deltas,
                                const FileChoice& files, Trust trust, const Context& context);

// Does a checkpoint have what a foreign delta leads to? By the checksums of the tensors that the delta changes, the one
// thing that it says about a checkpoint without being applied: the name of one that differs, or empty. Reads those
// tensors.
Result<std::string> TensorUnlike(const Checkpoint& checkpoint, const ForeignDelta& delta, const StopToken& stop);

}  // namespace wdelta
