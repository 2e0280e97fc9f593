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
  Result<bool> Accept(const WalkDigests&) override {
    WD_TRY(next_.CheckUnchanged());
    return true;
  }

 private:
  const Checkpoint* base_;
  const Checkpoint& next_;
  std::vector<Tensor> tensors_;
};

class Self final : public Target {
 public:
  explicit Self(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}
  const Layout& layout() const override { return checkpoint_.layout(); }
  const std::vector<Tensor>& tensors() const override { return checkpoint_.tensors(); }
  const Checkpoint* checkpoint() const override { return &checkpoint_; }
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
  Result<bool> Accept(const WalkDigests&) override { return true; }

 private:
  const Checkpoint& checkpoint_;
};

}  // namespace

std::unique_ptr<Error> Target::Explain(std::unique_ptr<Error> error, const Context&) const {
  return error;
}

std::unique_ptr<Target> PairTarget(const Checkpoint* base, const Checkpoint& next) {
  return std::make_unique<Pair>(base, next, next.tensors());
}

std::unique_ptr<Target> SelfTarget(const Checkpoint& checkpoint) {
  return std::make_unique<Self>(checkpoint);
}

Result<> ReadFile(const Target& target, size_t file,
                  const std::function<Result<>(uint64_t number, ByteSpan content)>& visit) {
  const LayoutFile& entry = target.layout().file(file);
  Sha256 sha256;
  for (uint64_t number = 0; number < BlockCount(entry.bytes); ++number) {
    WD_ASSIGN(const Bytes content, target.ReadFileBlock(file, number));
    sha256.Update(content);
    WD_TRY(visit(number, content));
  }
  if (sha256.Finish() == entry.sha256) return {};
  return Error{ErrorKind::kIntegrity, "'" + entry.path + "' does not have its SHA-256"}.At(entry.path);
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

namespace {

Result<WalkDigests> WalkOnce(const Target& target, const Context& context, const BlockWork& work,
                             const BlockEmit& emit) {
  const std::vector<Tensor>& tensors = target.tensors();
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
    WD_ASSIGN(const LoadedBlock loaded, target.Load(tensor, number, scratch[worker]));
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

}  // namespace

Result<WalkDigests> Walk(Target& target, const Context& context, const std::function<Result<>()>& begin,
                         const BlockWork& work, const BlockEmit& emit) {
  for (;;) {
    WD_TRY(begin());
    Result<WalkDigests> digests = WalkOnce(target, context, work, emit);
    if (!digests.ok()) return target.Explain(digests.TakeError(), context);
    Result<bool> accepted = target.Accept(*digests);
    if (!accepted.ok()) return target.Explain(accepted.TakeError(), context);
    if (*accepted) return digests;
  }
}

Result<std::vector<TensorDigest>> DigestTensors(const Checkpoint& checkpoint, std::vector<Tensor> tensors,
                                                const Context& context) {
  const Pair target(nullptr, checkpoint, std::move(tensors));
  WD_ASSIGN(
      WalkDigests digests,
      WalkOnce(
          target, context, [](uint32_t, const LoadedBlock&, WalkScratch&, WalkedBlock&) -> Result<> { return {}; },
          [](uint32_t, const WalkedBlock&) -> Result<> { return {}; }));
  return std::move(digests.result);
}

Result<std::vector<TensorDigest>> DigestBase(const Checkpoint& base, const Target& target, const WalkDigests& walked,
                                             const Context& context) {
  std::vector<TensorDigest> digests(base.tensors().size());
  std::vector<Tensor> others;
  std::vector<size_t> other_places;
  for (size_t i = 0; i < base.tensors().size(); ++i) {
    const Tensor& tensor = base.tensors()[i];
    const Tensor* next = FindTensor(target.tensors(), tensor.name);
    if (next && next->SameForm(tensor)) {
      const auto at = static_cast<size_t>(next - target.tensors().data());
      digests[i] = tensor.bytes ? walked.base[at] : walked.result[at];
    } else {
      others.push_back(tensor);
      other_places.push_back(i);
    }
  }
  WD_ASSIGN(const std::vector<TensorDigest> other_digests, DigestTensors(base, others, context));
  for (size_t i = 0; i < other_places.size(); ++i) digests[other_places[i]] = other_digests[i];
  WD_TRY(base.CheckUnchanged());
  return digests;
}

}  // namespace wdelta
