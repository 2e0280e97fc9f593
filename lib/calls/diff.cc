// Diff: what changed between two checkpoints, or what a delta changes.
#include "checkpoint/hex_identity.h"
#include "core/boundary.h"
#include "foreign/foreign.h"
#include "foreign/foreign_target.h"
#include "stats/tally_walk.h"
#include "walk/piece_walk.h"
#include "walk/rebuild.h"
#include "walk/write_delta.h"
#include "wdelta.h"

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

// Writes the plain delta that the request asks for.
Result<Difference> WritePlainDelta(const DiffRequest& request, const Checkpoint* base, Target& target,
                                   const Context& context, DiffReport& report) {
  WD_ASSIGN(Written written, WriteDelta(base, target, context, [&](const DeltaIndex& plan) {
              return CreatePlainDelta(request.output, plan, context.environment);
            }));
  WD_TRY(written.writer->Finish(written.index));
  report.base = HexIdentity(written.index.base);
  report.result = HexIdentity(written.index.result);
  report.delta_bytes = written.writer->written();
  return std::move(written.difference);
}

// NEW is a delta that starts from BASE: its result is never written anywhere.
Result<Difference> DiffWithDelta(const DiffRequest& request, const Context& context, DiffReport& report) {
  WD_ASSIGN(const OpenedTarget opened, OpenTarget(request.base, {request.next}, request.files, Trust::kWhole, context));
  const Checkpoint* base = opened.base.get();
  Target& target = *opened.target;
  if (!request.output.empty()) {
    // A pipe cannot take back what a walk that has to be repeated wrote first.
    if (request.output == "-" && !target.resumable()) WD_TRY(VerifyTarget(opened, context));
    return WritePlainDelta(request, base, target, context, report);
  }
  WD_ASSIGN(const WalkTally walked, TallyTarget(target, context));
  StateDigests base_state;
  if (target.base()) {
    base_state = *target.base();
  } else if (base) {
    WD_ASSIGN(const std::vector<TensorDigest> digests, DigestBase(*base, target, walked.digests, context));
    base_state = CombineState(Fingerprint(digests), base->layout().Digest());
  }
  report.base = HexIdentity(base_state);
  report.result = HexIdentity(CombineState(Fingerprint(walked.digests.result), target.layout().Digest()));
  return Summarize(base, target, walked.units_changed());
}

Result<Difference> DiffCheckpoints(const DiffRequest& request, const Context& context, DiffReport& report) {
  WD_ASSIGN(const Checkpoint base, Checkpoint::Open(request.base, request.files, context.note));
  WD_ASSIGN(const Checkpoint next, Checkpoint::Open(request.next, request.files, context.note));
  const auto target = PairTarget(&base, next);
  if (!request.output.empty()) return WritePlainDelta(request, &base, *target, context, report);
  WD_ASSIGN(const std::vector<uint64_t> changed, CountChanges(base, next, context));
  return Summarize(&base, *target, changed);
}

Result<DiffReport> DoDiff(const DiffRequest& request, const Context& context) {
  DiffReport report;
  WD_ASSIGN(const bool is_delta, LooksLikeAnyDelta(request.next));
  WD_ASSIGN(Difference difference,
            is_delta ? DiffWithDelta(request, context, report) : DiffCheckpoints(request, context, report));
  report.totals = difference.totals;
  report.tensors = std::move(difference.tensors);
  report.files = std::move(difference.files);
  return report;
}

}  // namespace

Result<DiffReport> Diff(const DiffRequest& request, const Context& context) {
  return Guarded(DoDiff, request, context);
}

}  // namespace wdelta
