// What a foreign delta leads to, as a side that a walk can go over: the tensors of what is before, some of them turned
// by the delta's streams. Streams run front to back, so the blocks of a turned tensor are loaded in their order,
// however many threads ask; all else is read at the same time.
#pragma once

#include <condition_variable>
#include <mutex>

#include "pack/foreign.h"
#include "pack/foreign_frame.h"
#include "walk.h"

namespace wdelta {

// A checkpoint that is its own base.
std::unique_ptr<ResultSide> SelfSide(const Checkpoint& checkpoint);

class ForeignSide final : public ResultSide {
 public:
  // `applied`: tensors of the delta that are new already, and stay as they are. Fails with kConflict if `before` does
  // not have the tensors of the delta. Both must outlive it. For one walk.
  static Result<std::unique_ptr<ForeignSide>> Open(const ResultSide& before, const ForeignDelta& delta,
                                                   const std::vector<bool>& applied);

  const Layout& layout() const override { return before_.layout(); }
  const std::vector<Tensor>& tensors() const override { return before_.tensors(); }
  Result<LoadedBlock> Load(uint32_t tensor, uint64_t block, WalkScratch& scratch) const override;
  Result<Bytes> ReadFileBlock(size_t file, uint64_t number) const override {
    return before_.ReadFileBlock(file, number);
  }

  // After the walk: which tensors of the delta were new before it came, by their checksums: to turn an XOR twice would
  // turn it back. kConflict if a tensor is neither the old nor the new one.
  Result<std::vector<bool>> Judge() const;

 private:
  struct Turning;
  ForeignSide(const ResultSide& before, const ForeignDelta& delta) : before_(before), delta_(delta) {}
  Result<> TurnBlock(const Tensor& tensor, Turning& turning, uint64_t block, MutableByteSpan bytes) const;

  const ResultSide& before_;
  const ForeignDelta& delta_;
  std::vector<bool> applied_;
  std::vector<std::shared_ptr<Turning>> turnings_;  // for each tensor of the result; null: it stays
  mutable std::mutex mutex_;
  mutable std::condition_variable turn_passed_;
  mutable std::optional<Error> failure_;  // the first; there is no turn after it
};

}  // namespace wdelta
