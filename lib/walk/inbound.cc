// The walk from right to left: deltas and a base become a checkpoint, or the proof that they would.
#include "walk/inbound.h"

#include <filesystem>

#include "checkpoint/checkpoint_editor.h"
#include "foreign/foreign.h"
#include "foreign/import.h"
#include "local/replica.h"
#include "local/sglang_marker.h"
#include "walk/in_place.h"

namespace wdelta {

namespace {

// A checkpoint and the deltas that lead on from it. The base is absent when the first delta is an anchor.
struct Opened {
  std::unique_ptr<Checkpoint> base;
  std::unique_ptr<ChainTarget> chain;
  std::optional<File> imported;  // the pack of a chain that foreign deltas end
};

// `base` may also name an anchor pack, which then is the first delta.
Result<Opened> OpenBaseAndDeltas(const std::string& base, std::vector<std::string> deltas, Trust trust, bool in_place,
                                 const Context& context) {
  std::error_code failed;
  bool from_anchor = base == "-";
  if (!from_anchor && std::filesystem::is_regular_file(base, failed)) {
    WD_ASSIGN(from_anchor, LooksLikeDelta(base));
  }
  if (from_anchor) deltas.insert(deltas.begin(), base);
  if (deltas.empty()) {
    return Error{ErrorKind::kUsage, "no delta to apply",
                 "only an anchor is rebuilt without one: 'wdelta pack --anchor'"};
  }
  Opened opened;
  std::vector<std::unique_ptr<DeltaReader>> readers;
  if (from_anchor) {
    WD_ASSIGN(readers, OpenDeltas(deltas, trust, context));
  } else {
    WD_ASSIGN(DeltasOnBase on_base, OpenOnBase(base, deltas, trust, context));
    opened.base = std::move(on_base.base);
    readers = std::move(on_base.deltas);
    opened.imported = std::move(on_base.imported);
    if (in_place && opened.imported && readers.size() > 1) {
      return Error{ErrorKind::kRefused, "in place, nothing can come after a delta of another system",
                   "apply the others afterwards, or write a new checkpoint with -o"};
    }
  }
  WD_ASSIGN(opened.chain, OpenChain(opened.base.get(), std::move(readers)));
  return opened;
}

// Walks the chain into `editor`, or into nothing, and proves the result. Says how many blocks had to be rebuilt.
Result<uint64_t> Rebuild(const Opened& opened, CheckpointEditor* editor, const Context& context) {
  const ChainTarget& chain = *opened.chain;
  for (size_t file = 0; file < chain.layout().file_count(); ++file) {
    WD_TRY(ReadFile(chain, file, [&](uint64_t number, ByteSpan content) -> Result<> {
      if (editor) return editor->WriteFileBlock(file, number, content);
      return {};
    }));
  }
  uint64_t rebuilt = 0;
  const auto write = [&](uint32_t tensor, const LoadedBlock& block, WalkScratch&, WalkedBlock& walked) -> Result<> {
    if (!editor) return {};
    return editor->WriteTensor(chain.tensors()[tensor], walked.prepared.place.number * kBlockBytes, block.new_block);
  };
  const auto count = [&](uint32_t, const WalkedBlock& block) -> Result<> {
    rebuilt += block.rebuilt;
    return {};
  };
  const auto walk = [&]() -> Result<> {
    WD_ASSIGN(const WalkDigests digests, Walk(chain, context, write, count));
    return ExpectResult(digests, chain);
  };
  if (Result<> walked = walk(); !walked.ok()) {
    return ExplainConflict(walked.TakeError(), opened.base.get(), chain, context);
  }
  if (opened.base) WD_TRY(opened.base->CheckUnchanged());
  return rebuilt;
}

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
  bool is_delta = request.against == "-";
  if (!is_delta) {
    WD_ASSIGN(is_delta, LooksLikeDelta(request.against));
  }
  if (is_delta) {
    WD_ASSIGN(const auto delta, OpenDelta(request.against, Trust::kWhole, context));
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

// A foreign delta says little without its base: alone, only its structure can be proved.
Result<VerifyReport> VerifyForeign(const VerifyRequest& request, const Context& context) {
  WD_ASSIGN(const std::unique_ptr<ForeignDelta> delta, OpenForeign(request.target));
  VerifyReport report{std::string(delta->kind()), {}, delta->tensors().size(), delta->bytes()};
  if (request.quick) return report;
  if (request.against.empty()) {
    context.note("without its base ('--against') only the structure of '" + request.target + "' is proved");
    return report;
  }
  WD_ASSIGN(const Opened opened, OpenBaseAndDeltas(request.against, {request.target}, Trust::kIndex, false, context));
  WD_TRY(Rebuild(opened, nullptr, context));
  report.identity = HexIdentity(opened.chain->last().index().result);
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
  // With a base, or without needing one, prove the rest too: the walk of apply, keeping nothing.
  Opened opened;
  if (!request.against.empty()) {
    WD_ASSIGN(Checkpoint base,
              Checkpoint::Open(request.against, {index.layout.include, index.layout.exclude}, context.note));
    opened.base = std::make_unique<Checkpoint>(std::move(base));
  }
  std::vector<std::unique_ptr<DeltaReader>> deltas;
  deltas.push_back(std::move(delta));
  WD_ASSIGN(opened.chain, OpenChain(opened.base.get(), std::move(deltas)));
  WD_TRY(Rebuild(opened, nullptr, context));
  return report;
}

// A folder that a pull keeps: its current version, held against the state that the pull proved.
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
                   ? "pull again with '--in-place --marker sglang', if SGLang has moved it on"
                   : "remove that folder and pull again";
  return error;
}

// Apply(), where nothing is left of an earlier run.
Result<ApplyReport> ApplyAfresh(const ApplyRequest& request, Trust trust, const Context& context) {
  WD_ASSIGN(const Opened opened, OpenBaseAndDeltas(request.base, request.deltas, trust, request.in_place, context));
  const DeltaIndex& last = opened.chain->last().index();
  ApplyReport report;
  report.totals = last.totals;
  report.base = HexIdentity(opened.chain->first().index().base);
  report.result = HexIdentity(last.result);
  report.path = request.in_place ? request.base : request.output;
  uint64_t changes = 0;
  if (request.in_place) {
    if (!opened.base)
      return Error{ErrorKind::kUsage, "'" + request.base + "' is no checkpoint that could be patched in place"};
    WD_ASSIGN(changes, Rebuild(opened, nullptr, context));
    const bool same_files = opened.base->layout().Digest() == last.result.layout;
    if (changes > 0 || !same_files) {
      WD_TRY(ApplyInPlace(*opened.base, *opened.chain, opened.imported ? &*opened.imported : nullptr, request.durable,
                          context));
    }
  } else {
    WD_ASSIGN(CheckpointEditor editor,
              CheckpointEditor::Create(request.output, opened.chain->layout(), request.durable));
    WD_ASSIGN(changes, Rebuild(opened, &editor, context));
    WD_TRY(editor.Commit());
  }
  report.already_applied = changes == 0 && opened.base && opened.base->layout().Digest() == last.result.layout &&
                           opened.chain->first().index().base.state != last.result.state;
  return report;
}

// What an interrupted run left in the checkpoint is carried out, so that it is one of the states that people know.
Result<> FinishInterrupted(const ApplyRequest& request, const Context& context) {
  WD_ASSIGN(const std::string pack, RecoverInPlace(request.base, request.durable));
  if (pack.empty()) return {};
  ApplyRequest rest = request;
  rest.deltas = {pack};
  WD_TRY(ApplyAfresh(rest, Trust::kWhole, context));
  context.note("an interrupted run on '" + request.base + "' was finished");
  return DropJournal(request.base, request.durable);
}

}  // namespace

Result<ApplyReport> Apply(const ApplyRequest& request, const Context& context) {
  return ApplyDeltas(request, Trust::kWhole, context);
}

Result<ApplyReport> ApplyDeltas(const ApplyRequest& request, Trust trust, const Context& context) {
  if (request.in_place == !request.output.empty()) {
    return Error{ErrorKind::kUsage, "apply needs an output or 'in place', not both"};
  }
  if (request.in_place) WD_TRY(FinishInterrupted(request, context));
  WD_ASSIGN(ApplyReport report, ApplyAfresh(request, trust, context));
  if (report.already_applied) context.note("'" + request.base + "' already has what the delta leads to");
  return report;
}

Result<StateDigests> ProveDeltas(const std::vector<std::string>& packs, const Context& context) {
  WD_ASSIGN(const Opened opened,
            OpenBaseAndDeltas(packs.front(), {packs.begin() + 1, packs.end()}, Trust::kIndex, false, context));
  WD_TRY(Rebuild(opened, nullptr, context));
  return opened.chain->last().index().result;
}

Result<VerifyReport> Verify(const VerifyRequest& request, const Context& context) {
  std::error_code failed;
  if (request.target != "-" && std::filesystem::is_directory(request.target, failed) && !LooksForeign(request.target)) {
    WD_ASSIGN(const std::optional<ReplicaCopy> pulled, CurrentCopyIn(request.target));
    return pulled ? VerifyPulled(request, *pulled, context) : VerifyCheckpoint(request, context);
  }
  bool is_delta = request.target == "-";
  if (!is_delta) {
    WD_ASSIGN(is_delta, LooksLikeDelta(request.target));
  }
  return is_delta ? VerifyDelta(request, context) : VerifyCheckpoint(request, context);
}

}  // namespace wdelta
