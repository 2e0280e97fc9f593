#include "walk/walk.h"

#include <algorithm>
#include <cstring>

#include "core/parallel.h"

namespace wdelta {

namespace {

// A checkpoint on disk, or some of its tensors, with the base's beside them.
class Pair final : public Target {
 public:
  Pair(const Checkpoint* base, const Checkpoint& next, std::vector<Tensor> tensors)
      : base_(base), next_(next), tensors_(std::move(tensors)) {}

  const Layout& layout() const override { return next_.layout(); }
  const std::vector<Tensor>& tensors() const override { return tensors_; }
  Result<Bytes> ReadFileBlock(size_t file, uint64_t number) const override { return next_.ReadFileBlock(file, number); }

  Result<LoadedBlock> Load(uint32_t tensor, uint64_t block, WalkScratch& scratch) const override {
    const Tensor& next = tensors_[tensor];
    const size_t length = BlockLength(next.bytes, block);
    scratch.new_bytes.resize(length);
    WD_TRY(next_.Read(next, block * kBlockBytes, scratch.new_bytes));
    LoadedBlock loaded;
    loaded.new_block = scratch.new_bytes;
    loaded.new_digest = DigestBlock(loaded.new_block);
    const Tensor* base = base_ ? base_->Find(next.name) : nullptr;
    if (!base || !base->SameForm(next)) return loaded;
    scratch.old_bytes.resize(length);
    WD_TRY(base_->Read(*base, block * kBlockBytes, scratch.old_bytes));
    loaded.has_old = true;
    loaded.old_block = scratch.old_bytes;
    loaded.same = std::memcmp(scratch.old_bytes.data(), scratch.new_bytes.data(), length) == 0;
    loaded.old_digest = loaded.same ? loaded.new_digest : DigestBlock(loaded.old_block);
    return loaded;
  }

 private:
  const Checkpoint* base_;
  const Checkpoint& next_;
  std::vector<Tensor> tensors_;
};

}  // namespace

std::unique_ptr<Target> PairTarget(const Checkpoint* base, const Checkpoint& next) {
  return std::make_unique<Pair>(base, next, next.tensors());
}

Result<> ReadFile(const Target& side, size_t file,
                  const std::function<Result<>(uint64_t number, ByteSpan content)>& visit) {
  const LayoutFile& entry = side.layout().file(file);
  Sha256 sha256;
  for (uint64_t number = 0; number < BlockCount(entry.bytes); ++number) {
    WD_ASSIGN(const Bytes content, side.ReadFileBlock(file, number));
    sha256.Update(content);
    WD_TRY(visit(number, content));
  }
  if (sha256.Finish() == entry.sha256) return {};
  Error error{ErrorKind::kIntegrity, "'" + entry.path + "' does not have its SHA-256"};
  error.path = entry.path;
  return error;
}

BlockOrder::BlockOrder(std::span<const Tensor> tensors) : order_(FileOrder(tensors)) {
  for (const uint32_t tensor : order_) {
    first_.push_back(count_);
    count_ += BlockCount(tensors[tensor].bytes);
    bytes_ += tensors[tensor].bytes;
  }
}

BlockOrder::Place BlockOrder::operator[](uint64_t n) const {
  // The last tensor that begins at or before n; empty tensors begin where the next one does, and come before it.
  const auto at = std::upper_bound(first_.begin(), first_.end(), n) - 1;
  return {order_[static_cast<size_t>(at - first_.begin())], n - *at};
}

Result<WalkDigests> Walk(const Target& side, const Context& context, const BlockWork& work, const BlockEmit& emit) {
  const std::vector<Tensor>& tensors = side.tensors();
  const BlockOrder order(tensors);
  const RunLimits limits = LimitsFor(context);
  std::vector<WalkScratch> scratch(limits.threads);
  for (unsigned worker = 0; worker < limits.threads; ++worker) scratch[worker].worker = worker;

  WalkDigests digests;
  digests.base.resize(tensors.size());
  for (const Tensor& tensor : tensors) {  // those without a block are done
    digests.result.push_back(tensor.bytes ? TensorDigest{}
                                          : TensorHasher(tensor.name, tensor.dtype, tensor.shape).Finish());
  }
  std::optional<TensorHasher> old_hasher, new_hasher;
  Progress progress{0, order.bytes()};

  const auto work_on = [&](uint64_t n, unsigned worker) -> Result<WalkedBlock> {
    const auto [tensor, number] = order[n];
    WD_ASSIGN(const LoadedBlock loaded, side.Load(tensor, number, scratch[worker]));
    WalkedBlock out;
    out.same = loaded.same;
    out.rebuilt = loaded.rebuilt;
    out.old_digest = loaded.old_digest;
    out.new_digest = loaded.new_digest;
    out.prepared.place.number = number;
    out.prepared.place.has_old = loaded.has_old;
    out.prepared.place.old_digest = static_cast<uint32_t>(ShortDigest(loaded.old_digest));
    out.prepared.place.new_digest = ShortDigest(loaded.new_digest);
    WD_TRY(work(tensor, loaded, scratch[worker], out));
    return out;
  };
  const auto emit_in_order = [&](uint64_t n, const WalkedBlock& block) -> Result<> {
    const auto [index, number] = order[n];
    const Tensor& tensor = tensors[index];
    if (number == 0) {
      new_hasher.emplace(tensor.name, tensor.dtype, tensor.shape);
      old_hasher.emplace(tensor.name, tensor.dtype, tensor.shape);
    }
    new_hasher->Add(block.new_digest);
    const bool has_old = block.prepared.place.has_old;
    if (has_old) old_hasher->Add(block.old_digest);
    if (number + 1 == BlockCount(tensor.bytes)) {
      digests.result[index] = new_hasher->Finish();
      if (has_old) digests.base[index] = old_hasher->Finish();
    }
    progress.done_bytes += BlockLength(tensor.bytes, number);
    WD_TRY(emit(index, block));
    context.progress(progress);
    return {};
  };
  WD_TRY(RunOrdered<WalkedBlock>(order.count(), limits, work_on, emit_in_order));
  return digests;
}

Result<> KeepNothing(uint32_t, const LoadedBlock&, WalkScratch&, WalkedBlock&) {
  return {};
}
Result<> ForgetBlock(uint32_t, const WalkedBlock&) {
  return {};
}

Result<std::vector<TensorDigest>> DigestTensors(const Checkpoint& checkpoint, std::vector<Tensor> tensors,
                                                const Context& context) {
  const Pair side(nullptr, checkpoint, std::move(tensors));
  WD_ASSIGN(WalkDigests digests, Walk(side, context, KeepNothing, ForgetBlock));
  return std::move(digests.result);
}

Result<StateDigests> DigestCheckpoint(const Checkpoint& checkpoint, const Context& context) {
  WD_ASSIGN(const std::vector<TensorDigest> digests, DigestTensors(checkpoint, checkpoint.tensors(), context));
  WD_TRY(checkpoint.CheckUnchanged());
  return CombineState(Fingerprint(digests), checkpoint.layout().Digest());
}

Identity HexIdentity(const StateDigests& digests) {
  if (digests == StateDigests{}) return {};  // the base of an anchor
  return {Hex(digests.fingerprint), Hex(digests.layout), Hex(digests.state)};
}

}  // namespace wdelta
