// The walk from left to right: two checkpoints, or a checkpoint and deltas, become one delta.
#include "walk/outbound.h"

#include <algorithm>

#include "foreign/export.h"
#include "foreign/import.h"
#include "stats/tally_walk.h"
#include "walk/chain.h"
#include "walk/piece_walk.h"

namespace wdelta {

namespace {

// Counts only: no digests, nothing kept.
Result<std::vector<uint64_t>> CountChanges(const Checkpoint& base, const Checkpoint& next, const Context& context) {
  std::vector<uint64_t> changed(next.tensors().size());
  WD_TRY(WalkPieces<uint64_t>(
      base, next, Unrelated::kSkip, context,
      [](unsigned, const PiecePair& piece, uint64_t& count) {
        count += CountChanged(piece.old_bytes, piece.new_bytes, UnitBytes(piece.tensor.dtype));
      },
      [&](uint32_t tensor, uint64_t count) { changed[tensor] += count; }));
  return changed;
}

// What is known before the first block.
DeltaIndex PlanDelta(const Checkpoint* base, const Target& side) {
  DeltaIndex plan;
  plan.anchor = !base;
  plan.layout = side.layout();
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

// Digests of all tensors of the base, by name: most were computed on the walk, the others (removed, reshaped, retyped)
// are read now.
Result<std::vector<TensorDigest>> BaseDigests(const Checkpoint& base, const Target& side, const WalkDigests& walked,
                                              const Context& context) {
  std::vector<TensorDigest> digests(base.tensors().size());
  std::vector<Tensor> others;
  std::vector<size_t> other_places;
  for (size_t i = 0; i < base.tensors().size(); ++i) {
    const Tensor& tensor = base.tensors()[i];
    const Tensor* next = FindTensor(side.tensors(), tensor.name);
    if (next && next->SameForm(tensor)) {
      const auto at = static_cast<size_t>(next - side.tensors().data());
      digests[i] = tensor.bytes ? walked.base[at] : walked.result[at];
    } else {
      others.push_back(tensor);
      other_places.push_back(i);
    }
  }
  WD_ASSIGN(const std::vector<TensorDigest> other_digests, DigestTensors(base, others, context));
  for (size_t i = 0; i < other_places.size(); ++i) digests[other_places[i]] = other_digests[i];
  return digests;
}

}  // namespace

Result<Written> WriteDelta(const Checkpoint* base, const Target& side, const Context& context,
                           const std::function<Result<std::unique_ptr<DeltaWriter>>(const DeltaIndex& plan)>& create) {
  Written out;
  out.index = PlanDelta(base, side);
  WD_ASSIGN(out.writer, create(out.index));
  DeltaWriter& writer = *out.writer;
  for (size_t file = 0; file < out.index.layout.file_count(); ++file) {
    if (!out.index.carried[file]) continue;
    WD_TRY(ReadFile(side, file,
                    [&](uint64_t number, ByteSpan content) { return writer.AddFileBlock(file, number, content); }));
  }
  std::vector<uint64_t> changed(side.tensors().size());
  const auto encode = [&](uint32_t tensor, const LoadedBlock& block, WalkScratch& scratch,
                          WalkedBlock& walked) -> Result<> {
    if (block.same) return {};
    const Tensor& entry = side.tensors()[tensor];
    const Dtype dtype = entry.dtype;
    if (block.has_old) {
      walked.units_changed = CompareBlock(block.old_block, block.new_block, UnitBytes(dtype), scratch.delta);
    } else {
      scratch.delta.Clear();
      scratch.delta.whole = true;
      walked.units_changed = block.new_block.size() / UnitBytes(dtype);
    }
    WD_ASSIGN(walked.prepared.coded, writer.Prepare({block.old_block, block.new_block, scratch.delta, dtype,
                                                     entry.shape.empty() ? 1 : entry.shape.back(),
                                                     walked.prepared.place.number * kBlockBytes / UnitBytes(dtype)},
                                                    &walked.prepared.codec));
    return {};
  };
  const auto append = [&](uint32_t tensor, const WalkedBlock& block) -> Result<> {
    if (block.same) return {};
    changed[tensor] += block.units_changed;
    return writer.AddTensorBlock(side.tensors()[tensor], tensor, block.prepared);
  };
  WD_ASSIGN(out.digests, Walk(side, context, encode, append));

  out.difference = Summarize(base, side, changed);
  DeltaIndex& index = out.index;
  index.totals = out.difference.totals;
  index.result = CombineState(Fingerprint(out.digests.result), side.layout().Digest());
  if (base) {
    WD_ASSIGN(const std::vector<TensorDigest> digests, BaseDigests(*base, side, out.digests, context));
    index.base = CombineState(Fingerprint(digests), base->layout().Digest());
    for (const TensorDigest& digest : digests) index.base_tensors.push_back(ShortTensorDigest(digest));
    WD_TRY(base->CheckUnchanged());
  }
  for (const TensorChange& change : out.difference.tensors) {
    if (change.kind == ChangeKind::kSame) continue;
    if (change.kind == ChangeKind::kRemoved) {
      index.removed.push_back({change.name, *DtypeFromName(change.old_dtype), change.old_shape});
      continue;
    }
    const auto ordinal = static_cast<size_t>(FindTensor(side.tensors(), change.name) - side.tensors().data());
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

namespace {

// NEW is a delta that starts from BASE: what it leads to is never written anywhere.
Result<DiffReport> DiffWithDelta(const DiffRequest& request, const Context& context) {
  WD_ASSIGN(DeltasOnBase opened, OpenOnBase(request.base, {request.next}, Trust::kWhole, context));
  const Checkpoint& base = *opened.base;
  WD_ASSIGN(const auto chain, OpenChain(&base, std::move(opened.deltas)));
  DiffReport report;
  Difference difference;
  if (request.output.empty()) {
    WD_ASSIGN(const WalkTally walked, TallyChain(&base, *chain, context));
    difference = Summarize(&base, *chain, walked.units_changed());
  } else {
    Result<Written> written = WriteDelta(
        &base, *chain, context, [&](const DeltaIndex& plan) { return CreatePlainDelta(request.output, plan); });
    if (!written.ok()) return ExplainConflict(written.TakeError(), &base, *chain, context);
    if (Result<> expected = ExpectResult(written->digests, *chain); !expected.ok()) {
      return ExplainConflict(expected.TakeError(), &base, *chain, context);
    }
    WD_TRY(written->writer->Finish(written->index));
    difference = std::move(written->difference);
    report.delta_bytes = written->writer->written();
  }
  report.base = HexIdentity(chain->first().index().base);
  report.result = HexIdentity(chain->last().index().result);
  report.totals = difference.totals;
  report.tensors = std::move(difference.tensors);
  report.files = std::move(difference.files);
  return report;
}

}  // namespace

Result<DiffReport> Diff(const DiffRequest& request, const Context& context) {
  WD_ASSIGN(const bool is_delta, LooksLikeDelta(request.next));
  if (is_delta) return DiffWithDelta(request, context);
  WD_ASSIGN(const Checkpoint base, Checkpoint::Open(request.base, request.files, context.note));
  WD_ASSIGN(const Checkpoint next, Checkpoint::Open(request.next, request.files, context.note));
  const auto side = PairTarget(&base, next);
  DiffReport report;
  Difference difference;
  if (request.output.empty()) {
    WD_ASSIGN(const std::vector<uint64_t> changed, CountChanges(base, next, context));
    difference = Summarize(&base, *side, changed);
  } else {
    WD_ASSIGN(Written written, WriteDelta(&base, *side, context, [&](const DeltaIndex& plan) {
                return CreatePlainDelta(request.output, plan);
              }));
    WD_TRY(next.CheckUnchanged());
    WD_TRY(written.writer->Finish(written.index));
    difference = std::move(written.difference);
    report.base = HexIdentity(written.index.base);
    report.result = HexIdentity(written.index.result);
    report.delta_bytes = written.writer->written();
  }
  report.totals = difference.totals;
  report.tensors = std::move(difference.tensors);
  report.files = std::move(difference.files);
  return report;
}

Result<PackReport> Pack(const PackRequest& request, const Context& context) {
  PackOptions options{request.level, nullptr, request.check};
  if (!request.codec.empty()) {
    options.codec = FindCodec(request.codec);
    if (!options.codec) {
      std::string known;
      for (const Codec& codec : CodecTable()) known += (known.empty() ? "" : ", ") + std::string(codec.name);
      return Error{ErrorKind::kUsage, "no codec '" + request.codec + "'", "codecs: " + known};
    }
  }
  WD_ASSIGN(const std::unique_ptr<ForeignWriter> foreign, ForeignWriterFor(request));
  if (foreign && request.anchor) {
    return Error{ErrorKind::kUsage, "'--format " + request.format + "' has no anchors of its own",
                 "a whole version is the checkpoint itself"};
  }
  const auto write = [&](const Checkpoint* base, const Target& side) {
    return WriteDelta(base, side, context, [&](const DeltaIndex& plan) {
      return request.format == "plain" ? CreatePlainDelta(request.output, plan)
                                       : CreatePack(request.output, plan, options);
    });
  };
  const auto finish = [](Written written) -> Result<PackReport> {
    WD_TRY(written.writer->Finish(written.index));
    return PackReport{written.index.totals, HexIdentity(written.index.base), HexIdentity(written.index.result),
                      written.writer->written(), Hex(written.writer->sha256())};
  };

  if (request.base.empty()) {
    if (request.inputs.size() != (request.anchor ? 1 : 2)) {
      return Error{ErrorKind::kUsage, request.anchor ? "an anchor is made from one checkpoint"
                                                     : "pack needs two checkpoints, or deltas with their base"};
    }
    std::optional<Checkpoint> base;
    if (!request.anchor) {
      WD_ASSIGN(base, Checkpoint::Open(request.inputs[0], request.files, context.note));
    }
    WD_ASSIGN(const Checkpoint next, Checkpoint::Open(request.inputs.back(), request.files, context.note));
    const auto side = PairTarget(base ? &*base : nullptr, next);
    if (foreign) return ExportDelta(*base, *side, request, *foreign, nullptr, context);
    WD_ASSIGN(Written written, write(base ? &*base : nullptr, *side));
    WD_TRY(next.CheckUnchanged());
    return finish(std::move(written));
  }
  if (request.inputs.empty()) return Error{ErrorKind::kUsage, "no delta to pack"};
  WD_ASSIGN(DeltasOnBase opened, OpenOnBase(request.base, request.inputs, Trust::kWhole, context));
  const Checkpoint& base = *opened.base;
  std::vector<std::unique_ptr<DeltaReader>> deltas = std::move(opened.deltas);
  WD_ASSIGN(const auto chain, OpenChain(&base, std::move(deltas)));
  if (foreign) {
    Result<PackReport> exported = ExportDelta(base, *chain, request, *foreign, chain.get(), context);
    if (!exported.ok()) return ExplainConflict(exported.TakeError(), &base, *chain, context);
    return exported;
  }
  Result<Written> written = write(&base, *chain);
  if (!written.ok()) return ExplainConflict(written.TakeError(), &base, *chain, context);
  if (Result<> expected = ExpectResult(written->digests, *chain); !expected.ok()) {
    return ExplainConflict(expected.TakeError(), &base, *chain, context);
  }
  return finish(std::move(*written));
}

}  // namespace wdelta
