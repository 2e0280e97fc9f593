#include "sync/ready_pack.h"

#include "core/byte_source.h"
#include "core/parallel.h"
#include "walk/write_delta.h"

namespace wdelta {

static_assert(kMaxPartBytes == kMaxObjectBytes, "a pack is written in the parts that a history takes");

ReadyPack::ReadyPack(std::string path, const DeltaIndex& index, const std::vector<ContainerPart>& parts)
    : path_(std::move(path)), anchor_(index.anchor), base_(index.base), result_(index.result), totals_(index.totals) {
  for (const ContainerPart& part : parts) objects_.push_back({part.sha256, part.bytes});
}

Result<ReadyPack> WritePack(const Checkpoint* base, const Checkpoint& next, const std::string& path, Level level,
                            const Context& context) {
  PackOptions options;
  options.level = level;
  WD_ASSIGN(const Written written, WriteDelta(base, *PairTarget(base, next), context,
                                              [&](const DeltaIndex& plan) { return CreatePack(path, plan, options); }));
  WD_TRY(written.writer->Finish(written.index));
  return ReadyPack(path, written.index, written.writer->parts());
}

Result<ReadyPack> CheckPack(const std::string& path, const Context& context) {
  WD_ASSIGN(const std::unique_ptr<DeltaReader> reader, OpenDelta(path, Trust::kWhole, context));
  WD_ASSIGN(std::vector<uint64_t> cuts, reader->CutPoints(kMaxObjectBytes));
  cuts.push_back(reader->bytes());
  std::vector<ContainerPart> parts;
  // The only part is the whole pack, whose digest the check has computed.
  if (cuts.size() == 2) parts.push_back({*reader->sha256(), reader->bytes()});
  WD_ASSIGN(const File file, File::OpenForRead(path));
  WD_TRY(RunOrdered<Sha256Digest>(
      parts.empty() ? cuts.size() - 1 : 0, LimitsFor(context),
      [&](uint64_t i, unsigned) { return DigestSource(FileSlice(file, cuts[i], cuts[i + 1] - cuts[i]), context.stop); },
      [&](uint64_t i, const Sha256Digest& sha256) -> Result<> {
        parts.push_back({sha256, cuts[i + 1] - cuts[i]});
        return {};
      }));
  return ReadyPack(path, reader->index(), parts);
}

}  // namespace wdelta
