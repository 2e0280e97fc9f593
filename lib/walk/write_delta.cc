#include "walk/write_delta.h"

namespace wdelta {

namespace {

// What is known before the first block.
DeltaIndex PlanDelta(const Checkpoint* base, const Target& target) {
  DeltaIndex plan;
  plan.anchor = !base;
  plan.layout = target.layout();
  for (size_t file = 0; file < plan.layout.file_count(); ++file) {
    const LayoutFile& wanted = plan.layout.file(file);
    bool in_base = false;
    for (size_t i = 0; base && i < base->layout().file_count() && !in_base; ++i) {
      const LayoutFile& candidate = base->layout().file(i);
      in_base = candidate.sha256 == wanted.sha256 && candidate.bytes == wanted.bytes;
    }
    plan.carried.push_back(!in_base);
  }
  return plan;
}

}  // namespace

Result<Written> WriteDelta(const Checkpoint* base, Target& target, const Context& context, const CreateWriter& create) {
  Written out;
  out.index = PlanDelta(base, target);
  std::vector<uint64_t> changed;
  // A walk that has to be repeated begins with an empty container.
  const auto begin = [&]() -> Result<> {
    changed.assign(target.tensors().size(), 0);
    out.writer.reset();
    WD_ASSIGN(out.writer, create(out.index));
    for (size_t file = 0; file < out.index.layout.file_count(); ++file) {
      if (!out.index.carried[file]) continue;
      WD_TRY(ReadFile(target, file, [&](uint64_t number, ByteSpan content) {
        return out.writer->AddFileBlock(file, number, content);
      }));
    }
    return {};
  };
  const auto encode = [&](uint32_t tensor, const LoadedBlock& block, WalkScratch& scratch,
                          WalkedBlock& walked) -> Result<> {
    if (block.same) return {};
    const Tensor& entry = target.tensors()[tensor];
    const Dtype dtype = entry.dtype;
    if (block.has_old) {
      walked.units_changed = CompareBlock(block.old_block, block.new_block, UnitBytes(dtype), scratch.delta);
    } else {
      scratch.delta.Clear();
      scratch.delta.whole = true;
      walked.units_changed = block.new_block.size() / UnitBytes(dtype);
    }
    WD_ASSIGN(walked.prepared.coded,
              out.writer->Prepare(
                  {block.old_block, block.new_block, scratch.delta, dtype, entry.shape.empty() ? 1 : entry.shape.back(),
                   walked.prepared.place.number * kBlockBytes / UnitBytes(dtype)},
                  &walked.prepared.codec));
    return {};
  };
  const auto append = [&](uint32_t tensor, const WalkedBlock& block) -> Result<> {
    if (block.same) return {};
    changed[tensor] += block.units_changed;
    return out.writer->AddTensorBlock(target.tensors()[tensor], tensor, block.prepared);
  };
  WD_ASSIGN(out.digests, Walk(target, context, begin, encode, append));

  out.difference = Summarize(base, target, changed);
  DeltaIndex& index = out.index;
  index.totals = out.difference.totals;
  index.result = CombineState(Fingerprint(out.digests.result), target.layout().Digest());
  if (base) {
    WD_ASSIGN(const std::vector<TensorDigest> digests, DigestBase(*base, target, out.digests, context));
    index.base = CombineState(Fingerprint(digests), base->layout().Digest());
    for (const TensorDigest& digest : digests) index.base_tensors.push_back(ShortTensorDigest(digest));
  }
  for (const TensorChange& change : out.difference.tensors) {
    if (change.kind == ChangeKind::kSame) continue;
    if (change.kind == ChangeKind::kRemoved) {
      index.removed.push_back({change.name, *DtypeFromName(change.old_dtype), change.old_shape});
      continue;
    }
    const auto ordinal = static_cast<size_t>(FindTensor(target.tensors(), change.name) - target.tensors().data());
    TensorRecord record;
    record.name = change.name;
    record.kind = change.kind;
    record.dtype = *DtypeFromName(change.dtype);
    record.shape = change.shape;
    if (!change.old_dtype.empty()) record.old_dtype = *DtypeFromName(change.old_dtype);
    record.old_shape = change.old_shape;
    record.ordinal = ordinal;
    record.units_changed = change.elements_changed;
    record.digest = ShortTensorDigest(out.digests.result[ordinal]);
    index.tensors.push_back(std::move(record));
  }
  return out;
}

}  // namespace wdelta
