// Diff: what changed between two checkpoints or records, or what a delta changes.
#include "calls/inner.h"
#include "checkpoint/hex_identity.h"
#include "core/boundary.h"
#include "foreign/foreign.h"
#include "foreign/foreign_target.h"
#include "stats/tally_walk.h"
#include "sync/way_index.h"
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

// By counts, of two checkpoints on this machine or of one and a delta.
Result<> DiffPaths(const DiffRequest& request, const Context& context, DiffReport& report) {
  WD_ASSIGN(const bool is_delta, LooksLikeAnyDelta(request.next));
  WD_ASSIGN(Difference difference,
            is_delta ? DiffWithDelta(request, context, report) : DiffCheckpoints(request, context, report));
  report.totals = difference.totals;
  report.tensors = std::move(difference.tensors);
  report.files = std::move(difference.files);
  return {};
}

// The path of a checkpoint that is this side. A record is rebuilt in `folder`, from `other` if that can be.
Result<std::string> BringHere(const std::string& side, const std::string& other, const std::string& folder,
                              const DiffRequest& request, const Context& context, DiffReport& report,
                              std::optional<RecordInfo>& record) {
  if (!LooksLikeRemote(side)) return side;
  WD_ASSIGN(Session session, Session::Open(side, request.transfer, context));
  WD_ASSIGN(Replica replica, Replica::Open(folder, 0, context.stop));
  FollowOptions options;
  options.wish.revision = session.revision();
  options.wish.named = session.named();
  options.build.base = other;
  WD_ASSIGN(const FollowReport followed, Follow(options, session, replica, context));
  record = InfoOf(followed);
  report.wire_bytes += followed.wire_bytes;
  return replica.PathOf(*followed.copy);
}

Result<> DiffRebuilt(DiffRequest request, const Context& context, DiffReport& report) {
  const TemporaryTree work(TemporaryNameBeside((request.work.empty() ? "." : request.work) + "/diff"));
  WD_TRY(CreateFolder(work.path));
  // What is here, or was built first, is what the other side is built from.
  const std::string here = LooksLikeRemote(request.next) ? "" : request.next;
  WD_ASSIGN(request.base,
            BringHere(request.base, here, work.path + "/1", request, context, report, report.base_record));
  WD_ASSIGN(request.next,
            BringHere(request.next, request.base, work.path + "/2", request, context, report, report.next_record));
  return DiffPaths(request, context, report);
}

// By digests: those of a record are in the indexes of its packs, so that no weights travel.
Result<> DiffByDigests(const DiffRequest& request, const Context& context, DiffReport& report) {
  const bool base_is_record = LooksLikeRemote(request.base), both = base_is_record && LooksLikeRemote(request.next);
  TensorList base, next;
  // `checkpoint`, if the other side is one, has to be opened with the files that were chosen for the record.
  const auto list = [&](const std::string& side, std::optional<RecordInfo>& info, TensorList& record,
                        const std::string& checkpoint, TensorList& beside) -> Result<> {
    WD_ASSIGN(Session session, Session::Open(side, request.transfer, context));
    WD_ASSIGN(const RecordEntry entry, session.Resolve());
    info = InfoOf(entry);
    if (both) {
      WD_ASSIGN(const std::vector<std::string> names, TensorNames(session.history(), entry, context));
      WD_ASSIGN(record, ListTensors(session.remote(), entry, names, context));
      return {};
    }
    WD_ASSIGN(const FileChoice files, ChoiceOf(session.remote(), entry, request.files, context));
    WD_ASSIGN(const Checkpoint opened, Checkpoint::Open(checkpoint, files, context.note));
    WD_ASSIGN(beside, ListTensors(opened, context));
    record = beside;
    record.state = {entry.fingerprint, {}, entry.state};
    if (entry.fingerprint == beside.state.fingerprint) return {};
    WD_ASSIGN(record, ListTensors(session.remote(), entry, beside.names, context));
    return {};
  };
  if (base_is_record) WD_TRY(list(request.base, report.base_record, base, request.next, next));
  if (both || !base_is_record) WD_TRY(list(request.next, report.next_record, next, request.base, base));
  report.base = HexIdentity(base.state);
  report.result = HexIdentity(next.state);
  if (report.base_record) report.base.layout.clear();  // a record does not tell it apart
  if (report.next_record) report.result.layout.clear();
  report.tensors = Differing(base, next);
  report.layout_differs = report.tensors.empty() && base.state.state != next.state.state;
  report.totals.tensors_total = next.names.size();
  for (const TensorChange& tensor : report.tensors) {
    ++(tensor.kind == ChangeKind::kAdded     ? report.totals.tensors_added
       : tensor.kind == ChangeKind::kRemoved ? report.totals.tensors_removed
                                             : report.totals.tensors_changed);
  }
  return {};
}

}  // namespace

Result<DiffReport> Diff(const DiffRequest& request, const Context& context) {
  return Guarded([&]() -> Result<DiffReport> {
    const bool has_record = LooksLikeRemote(request.base) || LooksLikeRemote(request.next);
    if (request.by_digests && !has_record) {
      return Error{ErrorKind::kUsage, "a comparison by digests needs a record, URL@REV"};
    }
    DiffReport report;
    WD_TRY(request.by_digests ? DiffByDigests(request, context, report)
           : has_record       ? DiffRebuilt(request, context, report)
                              : DiffPaths(request, context, report));
    return report;
  });
}

}  // namespace wdelta
