// What foreign deltas lead to, one after the other, as a side that a walk can go over: the tensors of what is before,
// some of them turned by the deltas' streams. Streams run front to back, so the blocks of a turned tensor are loaded in
// their order, however many threads ask; all else is read at the same time.
#pragma once

#include <condition_variable>
#include <mutex>

#include "foreign/foreign.h"
#include "foreign/foreign_frame.h"
#include "walk/walk.h"

namespace wdelta {

// A checkpoint that is its own base.
std::unique_ptr<Target> SelfTarget(const Checkpoint& checkpoint);

class ForeignTarget final : public Target {
 public:
  using Deltas = std::vector<std::unique_ptr<ForeignDelta>>;
  // For each tensor of the result, how many of the deltas that touch it are behind it already: they are passed over.
  using Passed = std::vector<size_t>;

  // Fails with kConflict if `before` does not have the tensors of the deltas. Both must outlive it. For one walk.
  static Result<std::unique_ptr<ForeignTarget>> Open(const Target& before, const Deltas& deltas, const Passed& passed);

  const Layout& layout() const override { return before_.layout(); }
  const std::vector<Tensor>& tensors() const override { return before_.tensors(); }
  Result<LoadedBlock> Load(uint32_t tensor, uint64_t block, WalkScratch& scratch) const override;
  Result<Bytes> ReadFileBlock(size_t file, uint64_t number) const override {
    return before_.ReadFileBlock(file, number);
  }

  // After the walk: which deltas each tensor had behind it before they came, by their checksums, because to turn an XOR
  // twice would turn it back. If that is not what was passed over, the walk has to be made again. kConflict if a
  // tensor is none of those that the deltas lead to, and does not become one.
  Result<Passed> Judge() const;

 private:
  struct TensorPatch;
  struct PatchedTensor;
  explicit ForeignTarget(const Target& before) : before_(before) {}
  static Result<> ApplyBlock(const Tensor& tensor, PatchedTensor& turned, uint64_t block, MutableByteSpan bytes);

  const Target& before_;
  std::vector<std::shared_ptr<PatchedTensor>> turned_;  // for each tensor of the result; null: it stays
  mutable std::mutex mutex_;
  mutable std::condition_variable turn_passed_;
  mutable std::optional<Error> failure_;  // the first; there is no turn after it
};

}  // namespace wdelta
