// Which record is this folder? Told by digests: no weights travel.
#include <algorithm>

#include "checkpoint/hex_identity.h"
#include "core/boundary.h"
#include "sync/record_info.h"
#include "sync/session.h"
#include "sync/way_index.h"
#include "walk/walk.h"
#include "wdelta.h"

namespace wdelta {

namespace {

// A checkpoint's tensors as a record's index tells them.
struct LocalTensors {
  StateDigests state;
  std::vector<std::string_view> names;
  std::vector<uint32_t> digests;
};

Result<LocalTensors> Digest(const Checkpoint& checkpoint, const Context& context) {
  LocalTensors local;
  WD_ASSIGN(const std::vector<TensorDigest> digests, DigestTensors(checkpoint, checkpoint.tensors(), context));
  WD_TRY(checkpoint.CheckUnchanged());
  local.state = CombineState(Fingerprint(digests), checkpoint.layout().Digest());
  for (const Tensor& tensor : checkpoint.tensors()) local.names.push_back(tensor.name);
  for (const TensorDigest& digest : digests) local.digests.push_back(ShortTensorDigest(digest));
  return local;
}

Result<std::vector<std::string>> Differing(Remote& remote, const RecordEntry& entry, const LocalTensors& local,
                                           const Context& context) {
  WD_ASSIGN(const std::vector<uint32_t> theirs, TensorDigestsOf(remote, entry, local.names, context));
  std::vector<std::string> differing;
  for (size_t i = 0; i < theirs.size(); ++i) {
    if (theirs[i] != local.digests[i]) differing.emplace_back(local.names[i]);
  }
  return differing;
}

Result<IdReport> DoId(const IdRequest& request, const Context& context) {
  constexpr uint64_t kLookedAt = 16;  // records whose tensors are compared, when none is the one
  IdReport report;
  std::optional<Session> session;
  std::vector<RecordEntry> entries;
  FileChoice files = request.files;
  if (!request.remote.empty()) {
    WD_ASSIGN(Session opened, Session::Open(request.remote, request.transfer, context));
    session.emplace(std::move(opened));
    WD_ASSIGN(const uint64_t tip, session->history().FindExistingTip());
    WD_ASSIGN(entries, session->history().Entries(1, tip));
    WD_ASSIGN(files, ChoiceOf(session->remote(), entries.back(), files, context));
  }
  WD_ASSIGN(const Checkpoint checkpoint, Checkpoint::Open(request.checkpoint, files, context.note));
  WD_ASSIGN(const LocalTensors local, Digest(checkpoint, context));
  report.identity = HexIdentity(local.state);
  if (!session) return report;
  for (const RecordEntry& entry : entries) {  // the newest that fits, an exact one before all
    const bool same_layout = entry.state == local.state.state;
    if (!same_layout && (entry.fingerprint != local.state.fingerprint || report.same_layout)) continue;
    report.record = InfoOf(entry);
    report.same_layout = same_layout;
  }
  if (report.record) return report;
  for (size_t i = entries.size(); i > 0 && entries.size() - i < kLookedAt; --i) {
    Result<std::vector<std::string>> differing = Differing(session->remote(), entries[i - 1], local, context);
    if (!differing.ok() && differing.error().kind != ErrorKind::kConflict &&
        differing.error().kind != ErrorKind::kNotFound) {
      return differing.TakeError();
    }
    if (!differing.ok() || (report.nearest && differing->size() >= report.differing.size())) continue;
    report.nearest = InfoOf(entries[i - 1]);
    report.differing = std::move(*differing);
  }
  return report;
}

}  // namespace

Result<IdReport> Id(const IdRequest& request, const Context& context) {
  return Guarded(DoId, request, context);
}

namespace {

Result<CompareReport> DoCompareWithRecord(const CompareRequest& request, const Context& context) {
  WD_ASSIGN(Session session, Session::Open(request.remote, request.transfer, context));
  WD_ASSIGN(const RecordEntry entry, session.Resolve());
  WD_ASSIGN(const FileChoice files, ChoiceOf(session.remote(), entry, request.files, context));
  WD_ASSIGN(const Checkpoint checkpoint, Checkpoint::Open(request.checkpoint, files, context.note));
  WD_ASSIGN(const LocalTensors local, Digest(checkpoint, context));
  CompareReport report;
  report.record = InfoOf(entry);
  report.identity = HexIdentity(local.state);
  report.tensors_total = local.names.size();
  report.same = entry.state == local.state.state;
  if (entry.fingerprint == local.state.fingerprint) return report;
  WD_ASSIGN(report.differing, Differing(session.remote(), entry, local, context));
  return report;
}

}  // namespace

Result<CompareReport> CompareWithRecord(const CompareRequest& request, const Context& context) {
  return Guarded(DoCompareWithRecord, request, context);
}

}  // namespace wdelta
