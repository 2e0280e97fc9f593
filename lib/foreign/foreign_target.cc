#include "foreign/foreign_target.h"

#include <algorithm>
#include <cstring>
#include <deque>

namespace wdelta {

namespace {

Error Conflict(const ForeignDelta& delta, const ForeignTensor& tensor, const std::string& why,
               const std::string& hint = {}) {
  return Error{ErrorKind::kConflict, "'" + delta.path() + "': tensor '" + tensor.name + "' " + why, hint}
      .At(delta.path())
      .OfTensor(tensor.name);
}

}  // namespace

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

// A tensor that is being patched, by one delta or by several.
struct ForeignTarget::PatchedTensor {
  uint64_t next = 0;  // the block whose turn it is
  uint64_t blocks = 0;
  size_t applied = 0;               // so many of the patches are skipped
  std::deque<TensorPatch> patches;  // in the order of the deltas
  std::optional<ForeignHasher> hasher;
  std::string checksum;  // of the tensor below, by the method of the first patch
};

ForeignTarget::ForeignTarget(std::unique_ptr<Target> before, Deltas deltas, NoteSink note)
    : before_(std::move(before)),
      deltas_(std::move(deltas)),
      note_(std::move(note)),
      applied_(before_->tensors().size()) {}

Result<std::unique_ptr<Target>> ForeignTarget::Open(std::unique_ptr<Target> before, Deltas deltas, NoteSink note) {
  std::unique_ptr<ForeignTarget> target(new ForeignTarget(std::move(before), std::move(deltas), std::move(note)));
  WD_TRY(target->PrepareWalk());
  return std::unique_ptr<Target>(std::move(target));
}

// What a walk uses up is made anew for the next one: a target may be walked more than once.
Result<> ForeignTarget::PrepareWalk() {
  patched_.assign(tensors().size(), nullptr);
  failure_.reset();
  for (const std::unique_ptr<ForeignDelta>& delta : deltas_) {
    for (size_t i = 0; i < delta->tensors().size(); ++i) {
      const ForeignTensor& wanted = delta->tensors()[i];
      const Tensor* tensor = FindTensor(tensors(), wanted.name);
      if (!tensor) return Conflict(*delta, wanted, "is not in the base", "is this the base that it was made for?");
      const bool same_shape = !wanted.shape || std::ranges::equal(*wanted.shape, tensor->shape);
      if (!same_shape || (wanted.dtype && *wanted.dtype != tensor->dtype))
        return Conflict(*delta, wanted, "has another type or shape in the base");
      const auto at = static_cast<size_t>(tensor - tensors().data());
      std::shared_ptr<PatchedTensor>& patched = patched_[at];
      if (!patched) {
        patched = std::make_shared<PatchedTensor>();
        patched->blocks = BlockCount(tensor->bytes);
        patched->applied = applied_[at];
        patched->hasher.emplace(wanted.checksum_kind);
      }
      patched->patches.emplace_back(*delta, i);
      if (patched->blocks > 0) continue;  // else no block will ever come
      WD_ASSIGN(const std::unique_ptr<ForeignStream> stream, delta->Open(i, tensor->dtype, tensor->shape));
      WD_TRY(stream->End());
      patched->patches.back().checksum = patched->patches.back().hasher.Finish();
    }
  }
  return {};
}

// A stream is opened when its tensor comes: each has buffers of its own, and there may be thousands.
Result<> ForeignTarget::ApplyBlock(const Tensor& tensor, PatchedTensor& patched, uint64_t block,
                                   MutableByteSpan bytes) {
  const bool last = block + 1 == patched.blocks;
  patched.hasher->Update(bytes);
  if (last) patched.checksum = patched.hasher->Finish();
  for (size_t i = patched.applied; i < patched.patches.size(); ++i) {
    TensorPatch& patch = patched.patches[i];
    if (block == 0) {
      WD_ASSIGN(patch.stream, patch.delta->Open(patch.index, tensor.dtype, tensor.shape));
    }
    WD_TRY(patch.stream->Apply(bytes));
    patch.hasher.Update(bytes);
    if (!last) continue;
    WD_TRY(patch.stream->End());
    patch.stream.reset();
    patch.checksum = patch.hasher.Finish();
  }
  patched.next = block + 1;
  return {};
}

Result<LoadedBlock> ForeignTarget::Load(uint32_t index, uint64_t block, WalkScratch& scratch) const {
  Result<LoadedBlock> loaded = before_->Load(index, block, scratch);
  PatchedTensor* const patched = patched_[index].get();
  if (!patched) return loaded;
  if (loaded.ok() && loaded->new_block.data() != scratch.new_bytes.data()) {
    scratch.new_bytes.assign(loaded->new_block.begin(), loaded->new_block.end());
  }
  std::optional<Error> failure;
  {
    std::unique_lock lock(mutex_);
    turn_.wait(lock, [&] { return patched->next == block || failure_; });
    if (!failure_ && !loaded.ok()) failure_ = loaded.error();
    if (!failure_) {
      const Result<> done = ApplyBlock(tensors()[index], *patched, block, scratch.new_bytes);
      if (!done.ok()) failure_ = done.error();
    }
    failure = failure_;
  }
  turn_.notify_all();
  if (failure) return *failure;  // a thread that waited in vain fails for the same reason
  loaded->new_block = scratch.new_bytes;
  loaded->new_digest = DigestBlock(loaded->new_block);
  loaded->same = loaded->has_old && loaded->new_digest == loaded->old_digest &&
                 std::memcmp(loaded->old_block.data(), loaded->new_block.data(), loaded->new_block.size()) == 0;
  loaded->rebuilt = !loaded->same;
  return loaded;
}

Result<bool> ForeignTarget::Accept(const WalkDigests& digests) {
  WD_ASSIGN(const bool accepted, before_->Accept(digests));
  WD_ASSIGN(const Applied found, CountApplied());
  const bool is_right = accepted && found == applied_;
  applied_ = found;
  if (is_right && note_ && std::any_of(found.begin(), found.end(), [](size_t count) { return count > 0; })) {
    note_("the base already has all or some of the changes of '" + deltas_.back()->path() + "'");
    note_ = nullptr;  // once, however often the target is walked
  }
  WD_TRY(PrepareWalk());
  return is_right;
}

Result<ForeignTarget::Applied> ForeignTarget::CountApplied() const {
  Applied applied(patched_.size());
  for (size_t at = 0; at < patched_.size(); ++at) {
    if (!patched_[at]) continue;
    const std::deque<TensorPatch>& patches = patched_[at]->patches;
    const size_t before = applied[at] = patched_[at]->applied;
    const auto is_wrong = [](const TensorPatch& patch) {
      return patch.wanted().checksum_kind != ForeignChecksum::kNone && patch.checksum != patch.wanted().checksum;
    };
    const auto wrong = std::find_if(patches.begin() + static_cast<ptrdiff_t>(before), patches.end(), is_wrong);
    if (wrong == patches.end()) continue;
    // The tensor below may be what one of the deltas leads to: the last such counts.
    for (size_t i = before; i < patches.size(); ++i) {
      const ForeignTensor& wanted = patches[i].wanted();
      const bool comparable = wanted.checksum_kind == patches[0].wanted().checksum_kind;
      if (comparable && wanted.checksum == patched_[at]->checksum) applied[at] = i + 1;
    }
    if (applied[at] > before) continue;
    return Conflict(*wrong->delta, wrong->wanted(),
                    "does not match its checksum: the base is wrong, or the delta is damaged")
        .Compared(wrong->wanted().checksum, wrong->checksum);
  }
  return applied;
}

Result<std::string> TensorUnlike(const Checkpoint& checkpoint, const ForeignDelta& delta, const StopToken& stop) {
  Bytes block;
  for (const ForeignTensor& wanted : delta.tensors()) {
    if (wanted.checksum_kind == ForeignChecksum::kNone) continue;
    const Tensor* tensor = checkpoint.Find(wanted.name);
    if (!tensor) return wanted.name;
    ForeignHasher hasher(wanted.checksum_kind);
    for (uint64_t number = 0; number < BlockCount(tensor->bytes); ++number) {
      WD_TRY(stop.Check());
      block.resize(BlockLength(tensor->bytes, number));
      WD_TRY(checkpoint.Read(*tensor, number * kBlockBytes, block));
      hasher.Update(block);
    }
    if (hasher.Finish() != wanted.checksum) return wanted.name;
  }
  return std::string();
}

}  // namespace wdelta
