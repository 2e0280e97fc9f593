// The walk over two checkpoints that only looks: no digests, nothing kept. It reads pieces that stay in the cache of a
// core, and is as fast as reading both files.
#pragma once

#include "core/parallel.h"
#include "walk/difference.h"

namespace wdelta {

// Up to a piece of a tensor of NEW, with the same bytes of BASE's beside it.
struct PiecePair {
  const Tensor& tensor;
  uint64_t at = 0;                // where in the tensor, in bytes
  ByteSpan old_bytes, new_bytes;  // old: empty if BASE has no tensor of that name, dtype and shape
};

// Tensors of NEW that BASE does not have in that form.
enum class Unrelated { kSkip, kVisit };

// Calls work(worker, piece, sum) for each piece, on several threads, with one R to sum up in for each block; then
// emit(tensor, sum) for each block, in the order of NEW's files. kConflict if a file changed on the way.
template <class R>
Result<> WalkPieces(const Checkpoint& base, const Checkpoint& next, Unrelated unrelated, const Context& context,
                    const std::function<void(unsigned worker, const PiecePair& piece, R& sum)>& work,
                    const std::function<void(uint32_t tensor, R sum)>& emit) {
  constexpr uint64_t kPiece = 256 << 10;
  const BlockOrder order(next.tensors());
  const RunLimits limits = LimitsFor(context);
  std::vector<WalkScratch> scratch(limits.threads);
  Progress progress{0, order.bytes()};
  WD_TRY(RunOrdered<R>(
      order.count(), limits,
      [&](uint64_t n, unsigned worker) -> Result<R> {
        const auto [index, number] = order[n];
        const Tensor& tensor = next.tensors()[index];
        const Tensor* old_tensor = base.Find(tensor.name);
        const bool related = Relate(old_tensor, tensor) == ChangeKind::kSame;
        R sum{};
        if (!related && unrelated == Unrelated::kSkip) return sum;
        Bytes &old_bytes = scratch[worker].old_bytes, &new_bytes = scratch[worker].new_bytes;
        const uint64_t begin = number * kBlockBytes, end = begin + BlockLength(tensor.bytes, number);
        for (uint64_t at = begin; at < end; at += kPiece) {
          new_bytes.resize(std::min(kPiece, end - at));
          old_bytes.resize(related ? new_bytes.size() : 0);
          if (related) WD_TRY(base.Read(*old_tensor, at, old_bytes));
          WD_TRY(next.Read(tensor, at, new_bytes));
          work(worker, {tensor, at, old_bytes, new_bytes}, sum);
        }
        return sum;
      },
      [&](uint64_t n, R sum) -> Result<> {
        const auto [index, number] = order[n];
        emit(index, std::move(sum));
        progress.done_bytes += BlockLength(next.tensors()[index].bytes, number);
        context.progress(progress);
        return {};
      }));
  WD_TRY(base.CheckUnchanged());
  return next.CheckUnchanged();
}

}  // namespace wdelta
