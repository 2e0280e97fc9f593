#include "foreign/foreign_side.h"

#include <algorithm>
#include <cstring>
#include <deque>

namespace wdelta {

namespace {

class Self final : public Target {
 public:
  explicit Self(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}
  const Layout& layout() const override { return checkpoint_.layout(); }
  const std::vector<Tensor>& tensors() const override { return checkpoint_.tensors(); }
  Result<Bytes> ReadFileBlock(size_t file, uint64_t number) const override {
    return checkpoint_.ReadFileBlock(file, number);
  }
  Result<LoadedBlock> Load(uint32_t index, uint64_t block, WalkScratch& scratch) const override {
    const Tensor& tensor = tensors()[index];
    scratch.old_bytes.resize(BlockLength(tensor.bytes, block));
    WD_TRY(checkpoint_.Read(tensor, block * kBlockBytes, scratch.old_bytes));
    LoadedBlock loaded;
    loaded.has_old = loaded.same = true;
    loaded.old_block = loaded.new_block = scratch.old_bytes;
    loaded.old_digest = loaded.new_digest = DigestBlock(scratch.old_bytes);
    return loaded;
  }

 private:
  const Checkpoint& checkpoint_;
};

Error OfTensor(const ForeignDelta& delta, const std::string& name, ErrorKind kind, const std::string& why) {
  Error error{kind, "'" + delta.path() + "': tensor '" + name + "' " + why};
  error.path = delta.path();
  error.tensor = name;
  return error;
}

}  // namespace

std::unique_ptr<Target> SelfTarget(const Checkpoint& checkpoint) {
  return std::make_unique<Self>(checkpoint);
}

// What one delta does to a tensor.
struct ForeignTarget::TensorPatch {
  const ForeignDelta* delta = nullptr;
  size_t index = 0;  // in the delta
  std::unique_ptr<ForeignStream> stream;
  ForeignHasher hasher;
  std::string checksum;  // of what it makes, once all blocks have passed

  TensorPatch(const ForeignDelta& of, size_t at) : delta(&of), index(at), hasher(wanted().checksum_kind) {}
  const ForeignTensor& wanted() const { return delta->tensors()[index]; }
};

// A tensor that is being turned, by one delta or by several.
struct ForeignTarget::PatchedTensor {
  uint64_t next = 0;  // the block whose turn it is
  uint64_t blocks = 0;
  size_t passed = 0;                 // so many of the turnings are behind it
  std::deque<TensorPatch> turnings;  // in the order of the deltas
  std::optional<ForeignHasher> hasher;
  std::string checksum;  // of what is before, by the means of the first turning
};

Result<std::unique_ptr<ForeignTarget>> ForeignTarget::Open(const Target& before, const Deltas& deltas,
                                                           const Passed& passed) {
  std::unique_ptr<ForeignTarget> side(new ForeignTarget(before));
  side->turned_.resize(before.tensors().size());
  for (const std::unique_ptr<ForeignDelta>& delta : deltas) {
    for (size_t i = 0; i < delta->tensors().size(); ++i) {
      const ForeignTensor& wanted = delta->tensors()[i];
      const Tensor* tensor = FindTensor(before.tensors(), wanted.name);
      if (!tensor) {
        Error error = OfTensor(*delta, wanted.name, ErrorKind::kConflict, "is not in the base");
        error.hint = "is this the base that it was made for?";
        return error;
      }
      const bool same_shape = !wanted.shape || std::equal(wanted.shape->begin(), wanted.shape->end(),
                                                          tensor->shape.begin(), tensor->shape.end());
      if (!same_shape || (wanted.dtype && *wanted.dtype != tensor->dtype)) {
        return OfTensor(*delta, wanted.name, ErrorKind::kConflict, "has another type or shape in the base");
      }
      const auto at = static_cast<size_t>(tensor - before.tensors().data());
      std::shared_ptr<PatchedTensor>& turned = side->turned_[at];
      if (!turned) {
        turned = std::make_shared<PatchedTensor>();
        turned->blocks = BlockCount(tensor->bytes);
        turned->passed = passed[at];
        turned->hasher.emplace(wanted.checksum_kind);
      }
      turned->turnings.emplace_back(*delta, i);
      if (turned->blocks > 0) continue;  // else no block will ever come
      WD_ASSIGN(const std::unique_ptr<ForeignStream> stream, delta->Open(i, tensor->dtype, tensor->shape));
      WD_TRY(stream->End());
      turned->turnings.back().checksum = turned->turnings.back().hasher.Finish();
    }
  }
  return side;
}

// A stream is opened when its tensor comes: each has buffers of its own, and there may be thousands.
Result<> ForeignTarget::ApplyBlock(const Tensor& tensor, PatchedTensor& turned, uint64_t block, MutableByteSpan bytes) {
  const bool last = block + 1 == turned.blocks;
  turned.hasher->Update(bytes);
  if (last) turned.checksum = turned.hasher->Finish();
  for (size_t i = turned.passed; i < turned.turnings.size(); ++i) {
    TensorPatch& turning = turned.turnings[i];
    if (block == 0) {
      WD_ASSIGN(turning.stream, turning.delta->Open(turning.index, tensor.dtype, tensor.shape));
    }
    WD_TRY(turning.stream->Turn(bytes));
    turning.hasher.Update(bytes);
    if (!last) continue;
    WD_TRY(turning.stream->End());
    turning.stream.reset();
    turning.checksum = turning.hasher.Finish();
  }
  turned.next = block + 1;
  return {};
}

Result<LoadedBlock> ForeignTarget::Load(uint32_t index, uint64_t block, WalkScratch& scratch) const {
  Result<LoadedBlock> loaded = before_.Load(index, block, scratch);
  PatchedTensor* const turned = turned_[index].get();
  if (!turned) return loaded;
  if (loaded.ok() && loaded->new_block.data() != scratch.new_bytes.data()) {
    scratch.new_bytes.assign(loaded->new_block.begin(), loaded->new_block.end());
  }
  std::optional<Error> failure;
  {
    std::unique_lock lock(mutex_);
    turn_passed_.wait(lock, [&] { return turned->next == block || failure_; });
    if (!failure_ && !loaded.ok()) failure_ = loaded.error();
    if (!failure_) {
      const Result<> done = ApplyBlock(tensors()[index], *turned, block, scratch.new_bytes);
      if (!done.ok()) failure_ = done.error();
    }
    failure = failure_;
  }
  turn_passed_.notify_all();
  if (failure) return *failure;  // whoever waited in vain fails for the same reason
  loaded->new_block = scratch.new_bytes;
  loaded->new_digest = DigestBlock(loaded->new_block);
  loaded->same = loaded->has_old && loaded->new_digest == loaded->old_digest &&
                 std::memcmp(loaded->old_block.data(), loaded->new_block.data(), loaded->new_block.size()) == 0;
  loaded->rebuilt = !loaded->same;
  return loaded;
}

Result<ForeignTarget::Passed> ForeignTarget::Judge() const {
  Passed passed(turned_.size());
  for (size_t at = 0; at < turned_.size(); ++at) {
    if (!turned_[at]) continue;
    const std::deque<TensorPatch>& turnings = turned_[at]->turnings;
    passed[at] = turned_[at]->passed;
    const auto is_wrong = [](const TensorPatch& turning) {
      return turning.wanted().checksum_kind != ForeignChecksum::kNone && turning.checksum != turning.wanted().checksum;
    };
    const auto wrong = std::find_if(turnings.begin() + static_cast<ptrdiff_t>(passed[at]), turnings.end(), is_wrong);
    if (wrong == turnings.end()) continue;
    // Something that a delta leads to may have been here before: the last such counts.
    size_t behind = passed[at];
    for (size_t i = passed[at]; i < turnings.size(); ++i) {
      const ForeignTensor& wanted = turnings[i].wanted();
      const bool comparable = wanted.checksum_kind == turnings[0].wanted().checksum_kind;
      if (comparable && wanted.checksum == turned_[at]->checksum) behind = i + 1;
    }
    if (behind == passed[at]) {
      Error error = OfTensor(*wrong->delta, wrong->wanted().name, ErrorKind::kConflict,
                             "does not become what it should: the base is another one, or the delta is damaged");
      error.expected = wrong->wanted().checksum;
      error.found = wrong->checksum;
      return error;
    }
    passed[at] = behind;
  }
  return passed;
}

}  // namespace wdelta
