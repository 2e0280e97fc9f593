// Verify: is a checkpoint, a delta, a folder that a pull keeps, or a whole history what it should be?
#include "checkpoint/hex_identity.h"
#include "core/boundary.h"
#include "foreign/foreign.h"
#include "foreign/foreign_target.h"
#include "local/replica.h"
#include "local/sglang_marker.h"
#include "sync/verify_history.h"
#include "walk/rebuild.h"
#include "wdelta.h"

namespace wdelta {

namespace {

Error Mismatch(const std::string& target, const std::string& against, const StateDigests& expected,
               const StateDigests& found, const std::string& tensor) {
  const bool tensors_differ = expected.fingerprint != found.fingerprint;
  Error error{ErrorKind::kIntegrity, "'" + target + "' is not '" + against + "': "};
  if (!tensors_differ) error.message += "the tensors are the same, but a header or a companion file differs";
  if (tensors_differ) {
    error.message +=
        "expected " + Hex(expected.fingerprint).substr(0, 12) + ", found " + Hex(found.fingerprint).substr(0, 12);
    if (!tensor.empty()) error.message += " (first difference: " + tensor + ")";
  }
  error.path = target;
  error.tensor = tensor;
  error.expected = Hex(tensors_differ ? expected.fingerprint : expected.layout);
  error.found = Hex(tensors_differ ? found.fingerprint : found.layout);
  return error;
}

// The first tensor of the checkpoint that a delta's result has otherwise; empty if none can be named. The delta has
// short digests of the tensors that it changes, and of all tensors of its base in name order.
std::string FirstDifference(const Checkpoint& checkpoint, const std::vector<TensorDigest>& digests,
                            const DeltaReader& delta) {
  const DeltaIndex& index = delta.index();
  auto removed = index.removed.begin();
  size_t in_base = 0;
  for (size_t i = 0; i < digests.size(); ++i) {
    const std::string_view name = checkpoint.tensors()[i].name;
    for (; removed != index.removed.end() && removed->name < name; ++removed) ++in_base;
    const std::optional<size_t> record = delta.FindRecord(name);
    const bool added = record && index.tensors[*record].kind == ChangeKind::kAdded;
    if (!added && in_base >= index.base_tensors.size()) return std::string(name);
    const uint32_t expected = record ? index.tensors[*record].digest : index.base_tensors[in_base];
    if (expected != ShortTensorDigest(digests[i])) return std::string(name);
    if (!added) ++in_base;
  }
  return {};
}

Result<> CompareWith(const Checkpoint& checkpoint, const std::vector<TensorDigest>& digests, const StateDigests& found,
                     const VerifyRequest& request, const Context& context) {
  WD_ASSIGN(const bool is_delta, LooksLikeAnyDelta(request.against));
  if (is_delta) {
    WD_ASSIGN(const auto delta, OpenOwnDelta(request.against, Trust::kWhole, context));
    if (delta->index().result == found) return {};
    return Mismatch(request.target, request.against, delta->index().result, found,
                    FirstDifference(checkpoint, digests, *delta));
  }
  WD_ASSIGN(const Checkpoint other, Checkpoint::Open(request.against, request.files, context.note));
  WD_ASSIGN(const std::vector<TensorDigest> other_digests, DigestTensors(other, other.tensors(), context));
  const StateDigests expected = CombineState(Fingerprint(other_digests), other.layout().Digest());
  if (expected == found) return {};
  std::string tensor;
  for (size_t i = 0; i < digests.size() && tensor.empty(); ++i) {
    const Tensor* same_name = other.Find(checkpoint.tensors()[i].name);
    if (!same_name || other_digests[static_cast<size_t>(same_name - other.tensors().data())] != digests[i]) {
      tensor = checkpoint.tensors()[i].name;
    }
  }
  return Mismatch(request.target, request.against, expected, found, tensor);
}

Result<VerifyReport> VerifyCheckpoint(const VerifyRequest& request, const Context& context) {
  WD_ASSIGN(const Checkpoint checkpoint, Checkpoint::Open(request.target, request.files, context.note));
  VerifyReport report{"checkpoint", {}, checkpoint.tensors().size(), checkpoint.data_bytes()};
  if (request.quick) return report;
  WD_ASSIGN(const std::vector<TensorDigest> digests, DigestTensors(checkpoint, checkpoint.tensors(), context));
  WD_TRY(checkpoint.CheckUnchanged());
  const StateDigests found = CombineState(Fingerprint(digests), checkpoint.layout().Digest());
  report.identity = HexIdentity(found);
  if (!request.against.empty()) WD_TRY(CompareWith(checkpoint, digests, found, request, context));
  return report;
}

// Of a foreign delta without its base only the structure can be checked.
Result<VerifyReport> VerifyForeign(const VerifyRequest& request, const Context& context) {
  WD_ASSIGN(const std::unique_ptr<ForeignDelta> delta, OpenForeign(request.target, context.environment));
  VerifyReport report{std::string(delta->kind()), {}, delta->tensors().size(), delta->bytes()};
  if (request.quick) return report;
  if (request.against.empty()) {
    context.note("without its base ('--against') only the structure of '" + request.target + "' is verified");
    return report;
  }
  WD_ASSIGN(const OpenedTarget opened,
            OpenTarget(request.against, {request.target}, request.files, Trust::kIndex, context));
  WD_ASSIGN(const StateDigests result, VerifyTarget(opened, context));
  report.identity = HexIdentity(result);
  return report;
}

Result<VerifyReport> VerifyDelta(const VerifyRequest& request, const Context& context) {
  if (LooksForeign(request.target)) return VerifyForeign(request, context);
  WD_ASSIGN(auto delta, OpenDelta(request.target, request.quick ? Trust::kIndex : Trust::kWhole, context));
  const DeltaIndex& index = delta->index();
  VerifyReport report{std::string(delta->kind()), HexIdentity(index.result), index.totals.tensors_total,
                      delta->bytes()};
  if (request.quick) return report;
  WD_TRY(delta->CheckWhole());
  if (!index.anchor && request.against.empty()) return report;
  // With a base, or without needing one, the rest is verified too: the walk of apply, keeping nothing.
  OpenedTarget opened;
  if (!request.against.empty()) {
    WD_ASSIGN(Checkpoint base,
              Checkpoint::Open(request.against, {index.layout.include, index.layout.exclude}, context.note));
    opened.base = std::make_unique<Checkpoint>(std::move(base));
    opened.target = SelfTarget(*opened.base);
  }
  std::vector<std::unique_ptr<DeltaReader>> deltas;
  deltas.push_back(std::move(delta));
  WD_ASSIGN(opened.target, OpenChain(std::move(opened.target), std::move(deltas)));
  WD_TRY(VerifyTarget(opened, context));
  return report;
}

// A folder that a pull keeps: its current copy against the state that the pull found.
Result<VerifyReport> VerifyPulled(const VerifyRequest& request, const ReplicaCopy& version, const Context& context) {
  VerifyRequest current = request;
  current.target = request.target + "/versions/" + version.name;
  current.files = {{"*"}, {}};  // it holds exactly the files of its checkpoint
  WD_ASSIGN(VerifyReport report, VerifyCheckpoint(current, context));
  report.kind = "pulled folder";
  if (request.quick || report.identity.state == Hex(version.state)) return report;
  Error error{ErrorKind::kIntegrity,
              "'" + current.target + "' is no longer what was pulled as record " + std::to_string(version.number)};
  error.path = current.target;
  error.expected = Hex(version.state);
  error.found = report.identity.state;
  error.hint = SglangMarker::IsIn(current.target)
                   ? "pull again with '--in-place --marker sglang', if SGLang has updated it"
                   : "remove that folder and pull again";
  return error;
}

}  // namespace

Result<VerifyReport> Verify(const VerifyRequest& request, const Context& context) {
  return Guarded([&]() -> Result<VerifyReport> {
    if (request.target != "-" && IsFolder(request.target) && !LooksForeign(request.target)) {
      WD_ASSIGN(const std::optional<ReplicaCopy> pulled, CurrentCopyIn(request.target));
      return pulled ? VerifyPulled(request, *pulled, context) : VerifyCheckpoint(request, context);
    }
    WD_ASSIGN(const bool is_delta, LooksLikeAnyDelta(request.target));
    return is_delta ? VerifyDelta(request, context) : VerifyCheckpoint(request, context);
  });
}

Result<VerifyRemoteReport> VerifyRemote(const VerifyRemoteRequest& request, const Context& context) {
  return Guarded([&]() -> Result<VerifyRemoteReport> {
    WD_ASSIGN(Session session, Session::Open(request.remote, request.transfer, context));
    return VerifyHistory(session, request.quick, context);
  });
}

}  // namespace wdelta
