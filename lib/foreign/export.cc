#include "core/text.h"
#include "foreign/foreign_writer.h"

namespace wdelta {

namespace {

Result<> CheckForms(const Checkpoint& base, const Target& target, const std::string& format) {
  const auto refuse = [&](std::string_view tensor, const char* what) {
    return Error{ErrorKind::kRefused,
                 "tensor '" + Shorten(tensor) + "' was " + what + ", which '--format " + format + "' cannot hold",
                 "'--format wdp' and '--format plain' can"}
        .OfTensor(tensor);
  };
  for (const Tensor& tensor : target.tensors()) {
    const ChangeKind kind = Relate(base.Find(tensor.name), tensor);
    if (kind != ChangeKind::kSame) return refuse(tensor.name, std::string(ChangeName(kind)).c_str());
  }
  for (const Tensor& tensor : base.tensors()) {
    if (!FindTensor(target.tensors(), tensor.name)) return refuse(tensor.name, "removed");
  }
  return {};
}

}  // namespace

Result<Exported> ExportDelta(const Checkpoint& base, Target& target, const std::string& format, ForeignWriter& writer,
                             const Context& context) {
  WD_TRY(CheckForms(base, target, format));
  // A writer cannot begin anew. A target that may have to be walked twice is walked once for nothing, and knows then.
  if (!target.resumable()) {
    WD_TRY(Walk(
        target, context, []() -> Result<> { return {}; },
        [](uint32_t, const LoadedBlock&, WalkScratch&, WalkedBlock&) -> Result<> { return {}; },
        [](uint32_t, const WalkedBlock&) -> Result<> { return {}; }));
  }
  std::vector<uint64_t> changed(target.tensors().size());
  // All blocks are handed on, with their old bytes: the formats have checksums of whole tensors.
  const auto copy = [&](uint32_t tensor, const LoadedBlock& block, WalkScratch&, WalkedBlock& out) -> Result<> {
    out.delta.values.assign(block.new_block.begin(), block.new_block.end());
    const ByteSpan old_block = block.same ? block.new_block : block.old_block;
    out.prepared.coded.assign(old_block.begin(), old_block.end());
    if (!block.same) {
      out.units_changed = CountChanged(block.old_block, block.new_block, UnitBytes(target.tensors()[tensor].dtype));
    }
    return {};
  };
  const auto write = [&](uint32_t index, const WalkedBlock& block) -> Result<> {
    const Tensor& tensor = target.tensors()[index];
    changed[index] += block.units_changed;
    // What the format has no words for may be there, as long as it does not change.
    if (Result<> sayable = writer.Check(tensor); !sayable.ok()) return block.same ? Result<>() : std::move(sayable);
    if (block.prepared.place.number == 0) WD_TRY(writer.Begin(tensor));
    WD_TRY(writer.Add(block.prepared.coded, block.delta.values));
    if (block.prepared.place.number + 1 == BlockCount(tensor.bytes)) WD_TRY(writer.End());
    return {};
  };
  WD_ASSIGN(const WalkDigests digests, Walk(
                                           target, context, []() -> Result<> { return {}; }, copy, write));
  const Difference difference = Summarize(&base, target, changed);
  for (const FileChange& file : difference.files) {
    context.note("'" + file.path + "' was " + std::string(ChangeName(file.kind)) + ", and has no place in '--format " +
                 format + "'");
  }
  WD_TRY(writer.Finish(difference.totals));
  WD_ASSIGN(const std::vector<TensorDigest> base_digests, DigestBase(base, target, digests, context));
  return Exported{difference.totals, CombineState(Fingerprint(base_digests), base.layout().Digest()),
                  CombineState(Fingerprint(digests.result), target.layout().Digest()), writer.written()};
}

}  // namespace wdelta
