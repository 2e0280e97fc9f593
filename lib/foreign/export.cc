#include "foreign/export.h"

#include <algorithm>
#include <filesystem>

#include "core/text.h"

namespace wdelta {

namespace {

Result<> CheckForms(const Checkpoint& base, const Target& side, const PackRequest& request) {
  const auto refuse = [&](std::string_view tensor, const char* what) {
    Error error{ErrorKind::kRefused,
                "tensor '" + Shorten(tensor) + "' was " + what + ", which '--format " + request.format + "' cannot say",
                "'--format wdp' and '--format plain' can"};
    error.tensor = tensor;
    return error;
  };
  for (const Tensor& tensor : side.tensors()) {
    const ChangeKind kind = Relate(base.Find(tensor.name), tensor);
    if (kind != ChangeKind::kSame) return refuse(tensor.name, std::string(ChangeName(kind)).c_str());
  }
  for (const Tensor& tensor : base.tensors()) {
    if (!FindTensor(side.tensors(), tensor.name)) return refuse(tensor.name, "removed");
  }
  return {};
}

bool IsWholeNumber(const std::string& text) {
  return !text.empty() && text.size() <= 18 && (text == "0" || text[0] != '0') &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Result<std::unique_ptr<ForeignWriter>> ForeignWriterFor(const PackRequest& request) {
  const bool canonical = request.format == "canonical", skyrl = request.format == "skyrl",
             trl = request.format == "trl";
  const auto misplaced = [](const char* option) {
    return Error{ErrorKind::kUsage, std::string("'") + option + "' goes with '--format canonical'"};
  };
  const bool of_trl = request.encoding == "indices" || request.encoding == "raw";
  if (!request.encoding.empty() && !(of_trl ? trl : canonical)) {
    return Error{ErrorKind::kUsage,
                 "'--encoding " + request.encoding + "' goes with '--format " + (of_trl ? "trl" : "canonical") + "'"};
  }
  if (!request.checksum.empty() && !canonical) return misplaced("--checksum");
  if (!canonical && !skyrl && !trl) {
    if (!request.version.empty() || !request.base_version.empty()) return misplaced("--version-name");
    return std::unique_ptr<ForeignWriter>();
  }
  if (request.output == "-" && !trl) {
    return Error{ErrorKind::kUsage,
                 "'--format " + request.format + "' is a folder, which cannot go to standard output"};
  }
  std::error_code failed;
  if (!trl && std::filesystem::exists(request.output, failed) && !std::filesystem::is_empty(request.output, failed)) {
    return Error{ErrorKind::kUsage, "'" + request.output + "' is there already", "give a new folder"};
  }
  ForeignOptions options;
  options.overwrite = request.encoding == "overwrite";
  options.newer_keys = request.encoding == "raw";
  if (request.checksum == "adler32") options.checksum = ForeignChecksum::kAdler32;
  if (skyrl) options.version = "1", options.base_version = "0";
  if (trl) options.version = "1", options.base_version = "0";
  if (!request.version.empty()) options.version = request.version;
  if (!request.base_version.empty()) options.base_version = request.base_version;
  if (skyrl && (!IsWholeNumber(options.version) || !IsWholeNumber(options.base_version))) {
    return Error{ErrorKind::kUsage, "versions of SkyRL are whole numbers"};
  }
  return canonical ? CreateCanonical(request.output, options)
         : skyrl   ? CreateSkyrl(request.output, options)
                   : CreateTrl(request.output, options);
}

Result<PackReport> ExportDelta(const Checkpoint& base, const Target& side, const PackRequest& request,
                               ForeignWriter& writer, const ChainTarget* chain, const Context& context) {
  WD_TRY(CheckForms(base, side, request));
  std::vector<uint64_t> changed(side.tensors().size());
  // All blocks are handed on, with their old bytes: the formats have checksums of whole tensors.
  const auto copy = [&](uint32_t tensor, const LoadedBlock& block, WalkScratch&, WalkedBlock& out) -> Result<> {
    out.delta.values.assign(block.new_block.begin(), block.new_block.end());
    const ByteSpan old_block = block.same ? block.new_block : block.old_block;
    out.prepared.coded.assign(old_block.begin(), old_block.end());
    if (!block.same) {
      out.units_changed = CountChanged(block.old_block, block.new_block, UnitBytes(side.tensors()[tensor].dtype));
    }
    return {};
  };
  const auto write = [&](uint32_t index, const WalkedBlock& block) -> Result<> {
    const Tensor& tensor = side.tensors()[index];
    changed[index] += block.units_changed;
    // What the format has no words for may be there, as long as it does not change.
    if (Result<> sayable = writer.Check(tensor); !sayable.ok()) return block.same ? Result<>() : std::move(sayable);
    if (block.prepared.place.number == 0) WD_TRY(writer.Begin(tensor));
    WD_TRY(writer.Add(block.prepared.coded, block.delta.values));
    if (block.prepared.place.number + 1 == BlockCount(tensor.bytes)) WD_TRY(writer.End());
    return {};
  };
  WD_ASSIGN(const WalkDigests digests, Walk(side, context, copy, write));
  if (chain) WD_TRY(ExpectResult(digests, *chain));
  WD_TRY(base.CheckUnchanged());
  const Difference difference = Summarize(&base, side, changed);
  for (const FileChange& file : difference.files) {
    context.note("'" + file.path + "' was " + std::string(ChangeName(file.kind)) + ", and has no place in '--format " +
                 request.format + "'");
  }
  WD_TRY(writer.Finish(difference.totals));
  PackReport report;
  report.totals = difference.totals;
  std::vector<TensorDigest> base_digests = digests.base;  // the same tensors, by CheckForms
  for (size_t i = 0; i < base_digests.size(); ++i) {
    if (side.tensors()[i].bytes == 0) base_digests[i] = digests.result[i];
  }
  report.base = HexIdentity(CombineState(Fingerprint(base_digests), base.layout().Digest()));
  report.result = HexIdentity(CombineState(Fingerprint(digests.result), side.layout().Digest()));
  report.delta_bytes = writer.written();
  return report;
}

}  // namespace wdelta
