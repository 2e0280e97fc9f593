#include "foreign_side.h"

#include <cstring>

namespace wdelta {

namespace {

class Self final : public ResultSide {
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

std::unique_ptr<ResultSide> SelfSide(const Checkpoint& checkpoint) {
  return std::make_unique<Self>(checkpoint);
}

// A tensor that is being turned.
struct ForeignSide::Turning {
  size_t index = 0;   // in the delta
  uint64_t next = 0;  // the block whose turn it is
  uint64_t blocks = 0;
  std::unique_ptr<ForeignStream> stream;
  ForeignHasher old_hasher, new_hasher;
  std::string old_checksum, new_checksum;  // once all blocks have passed

  explicit Turning(ForeignChecksum kind) : old_hasher(kind), new_hasher(kind) {}
};

Result<std::unique_ptr<ForeignSide>> ForeignSide::Open(const ResultSide& before, const ForeignDelta& delta,
                                                       const std::vector<bool>& applied) {
  std::unique_ptr<ForeignSide> side(new ForeignSide(before, delta));
  side->applied_ = applied;
  side->turnings_.resize(before.tensors().size());
  for (size_t i = 0; i < delta.tensors().size(); ++i) {
    const ForeignTensor& wanted = delta.tensors()[i];
    const Tensor* tensor = FindTensor(before.tensors(), wanted.name);
    if (!tensor) {
      Error error = OfTensor(delta, wanted.name, ErrorKind::kConflict, "is not in the base");
      error.hint = "is this the base that it was made for?";
      return error;
    }
    const bool same_shape = !wanted.shape || std::equal(wanted.shape->begin(), wanted.shape->end(),
                                                        tensor->shape.begin(), tensor->shape.end());
    if (!same_shape || (wanted.dtype && *wanted.dtype != tensor->dtype)) {
      return OfTensor(delta, wanted.name, ErrorKind::kConflict, "has another type or shape in the base");
    }
    if (applied[i]) continue;
    auto turning = std::make_shared<Turning>(wanted.checksum_kind);
    turning->index = i;
    turning->blocks = BlockCount(tensor->bytes);
    if (turning->blocks == 0) {
      WD_ASSIGN(const std::unique_ptr<ForeignStream> stream, delta.Open(i, tensor->dtype, tensor->shape));
      WD_TRY(stream->End());
      turning->old_checksum = turning->new_checksum = turning->new_hasher.Finish();
    }
    side->turnings_[static_cast<size_t>(tensor - before.tensors().data())] = std::move(turning);
  }
  return side;
}

// A stream is opened when its tensor comes: each has buffers of its own, and there may be thousands.
Result<> ForeignSide::TurnBlock(const Tensor& tensor, Turning& turning, uint64_t block, MutableByteSpan bytes) const {
  if (block == 0) {
    WD_ASSIGN(turning.stream, delta_.Open(turning.index, tensor.dtype, tensor.shape));
  }
  turning.old_hasher.Update(bytes);
  WD_TRY(turning.stream->Turn(bytes));
  turning.new_hasher.Update(bytes);
  turning.next = block + 1;
  if (turning.next < turning.blocks) return {};
  WD_TRY(turning.stream->End());
  turning.stream.reset();
  turning.old_checksum = turning.old_hasher.Finish();
  turning.new_checksum = turning.new_hasher.Finish();
  return {};
}

Result<LoadedBlock> ForeignSide::Load(uint32_t index, uint64_t block, WalkScratch& scratch) const {
  Result<LoadedBlock> loaded = before_.Load(index, block, scratch);
  Turning* const turning = turnings_[index].get();
  if (!turning) return loaded;
  if (loaded.ok() && loaded->new_block.data() != scratch.new_bytes.data()) {
    scratch.new_bytes.assign(loaded->new_block.begin(), loaded->new_block.end());
  }
  std::optional<Error> failure;
  {
    std::unique_lock lock(mutex_);
    turn_passed_.wait(lock, [&] { return turning->next == block || failure_; });
    if (!failure_ && !loaded.ok()) failure_ = loaded.error();
    if (!failure_) {
      const Result<> turned = TurnBlock(tensors()[index], *turning, block, scratch.new_bytes);
      if (!turned.ok()) failure_ = turned.error();
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

Result<std::vector<bool>> ForeignSide::Judge() const {
  std::vector<bool> applied = applied_;
  for (const std::shared_ptr<Turning>& turning : turnings_) {
    if (!turning) continue;
    const ForeignTensor& wanted = delta_.tensors()[turning->index];
    if (wanted.checksum_kind == ForeignChecksum::kNone || turning->new_checksum == wanted.checksum) continue;
    if (turning->old_checksum != wanted.checksum) {
      Error error = OfTensor(delta_, wanted.name, ErrorKind::kConflict,
                             "does not become what it should: the base is another one, or the delta is damaged");
      error.expected = wanted.checksum;
      error.found = turning->new_checksum;
      return error;
    }
    applied[turning->index] = true;
  }
  return applied;
}

}  // namespace wdelta
