// Pack: two checkpoints, deltas with their base, or one checkpoint become something to ship.
#include "checkpoint/hex_identity.h"
#include "core/boundary.h"
#include "core/text.h"
#include "foreign/foreign_target.h"
#include "foreign/foreign_writer.h"
#include "walk/rebuild.h"
#include "walk/write_delta.h"
#include "wdelta.h"

namespace wdelta {

namespace {

bool IsWholeNumber(const std::string& text) {
  const std::optional<uint64_t> number = WholeNumber(text);
  return number && text.size() <= 18 && std::to_string(*number) == text;
}

// A writer for request.format, or null for our own formats. kUsage for choices that do not go together.
Result<std::unique_ptr<ForeignWriter>> ForeignWriterFor(const PackRequest& request, const Context& context) {
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
  if (!trl && PathExists(request.output) && !IsEmptyFolder(request.output)) {
    return Error{ErrorKind::kUsage, "'" + request.output + "' is there already", "give a new folder"};
  }
  ForeignOptions options;
  options.environment = context.environment;
  options.overwrite = request.encoding == "overwrite";
  options.newer_keys = request.encoding == "raw";
  if (request.checksum == "adler32") options.checksum = ForeignChecksum::kAdler32;
  if (!canonical) options.version = "1", options.base_version = "0";
  if (!request.version.empty()) options.version = request.version;
  if (!request.base_version.empty()) options.base_version = request.base_version;
  if (skyrl && (!IsWholeNumber(options.version) || !IsWholeNumber(options.base_version))) {
    return Error{ErrorKind::kUsage, "versions of SkyRL are whole numbers"};
  }
  return canonical ? CreateCanonical(request.output, options)
         : skyrl   ? CreateSkyrl(request.output, options)
                   : CreateTrl(request.output, options);
}

Result<PackOptions> OptionsOf(const PackRequest& request) {
  PackOptions options{request.level, nullptr, request.check};
  if (request.codec.empty()) return options;
  options.codec = FindCodec(request.codec);
  if (options.codec) return options;
  std::string known;
  for (const Codec& codec : CodecTable()) known += (known.empty() ? "" : ", ") + std::string(codec.name);
  return Error{ErrorKind::kUsage, "no codec '" + request.codec + "'", "codecs: " + known};
}

// What the request's inputs lead to. `next` holds NEW where that is a checkpoint.
Result<OpenedTarget> OpenInputs(const PackRequest& request, std::optional<Checkpoint>& next, const Context& context) {
  if (!request.base.empty()) {
    if (request.inputs.empty()) return Error{ErrorKind::kUsage, "no delta to pack"};
    return OpenTarget(request.base, request.inputs, request.files, Trust::kWhole, context);
  }
  if (request.inputs.size() != (request.anchor ? 1 : 2)) {
    return Error{ErrorKind::kUsage, request.anchor ? "an anchor is made from one checkpoint"
                                                   : "pack needs two checkpoints, or deltas with their base"};
  }
  OpenedTarget opened;
  if (!request.anchor) {
    WD_ASSIGN(Checkpoint base, Checkpoint::Open(request.inputs[0], request.files, context.note));
    opened.base = std::make_unique<Checkpoint>(std::move(base));
  }
  WD_ASSIGN(next, Checkpoint::Open(request.inputs.back(), request.files, context.note));
  opened.target = PairTarget(opened.base.get(), *next);
  return opened;
}

}  // namespace

Result<PackReport> Pack(const PackRequest& request, const Context& context) {
  return Guarded([&]() -> Result<PackReport> {
    WD_ASSIGN(const PackOptions options, OptionsOf(request));
    WD_ASSIGN(const std::unique_ptr<ForeignWriter> foreign, ForeignWriterFor(request, context));
    if (foreign && request.anchor) {
      return Error{ErrorKind::kUsage, "'--format " + request.format + "' has no anchors of its own",
                   "a whole version is the checkpoint itself"};
    }
    std::optional<Checkpoint> next;
    WD_ASSIGN(const OpenedTarget opened, OpenInputs(request, next, context));
    const Checkpoint* base = opened.base.get();
    if (foreign) {
      if (!base) return Error{ErrorKind::kUsage, "'--format " + request.format + "' needs a base that is a checkpoint"};
      WD_ASSIGN(const Exported out, ExportDelta(*base, *opened.target, request.format, *foreign, context));
      return PackReport{out.totals, HexIdentity(out.base), HexIdentity(out.result), out.bytes, ""};
    }
    // A pipe cannot take back what a walk that has to be repeated wrote first.
    if (request.output == "-" && !opened.target->resumable()) WD_TRY(VerifyTarget(opened, context));
    WD_ASSIGN(Written written, WriteDelta(base, *opened.target, context, [&](const DeltaIndex& plan) {
                return request.format == "plain" ? CreatePlainDelta(request.output, plan, context.environment)
                                                 : CreatePack(request.output, plan, options);
              }));
    WD_TRY(written.writer->Finish(written.index));
    return PackReport{written.index.totals, HexIdentity(written.index.base), HexIdentity(written.index.result),
                      written.writer->written(), Hex(written.writer->sha256())};
  });
}

}  // namespace wdelta
