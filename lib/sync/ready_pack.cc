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
  WD_ASSIGN(const File file, File::OpenForRead(path));
  const auto digest_part = [&](uint64_t i) -> Result<ContainerPart> {
    const FileSlice part(file, cuts[i], cuts[i + 1] - cuts[i]);
    // The only part is the whole pack, whose digest the check has computed.
    WD_ASSIGN(const Sha256Digest sha256,
              cuts.size() == 2 ? Result<Sha256Digest>(*reader->sha256()) : DigestSource(part, context.stop));
    return ContainerPart{sha256, part.size()};
  };
  WD_ASSIGN(const std::vector<ContainerPart> parts,
            CollectOrdered<ContainerPart>(cuts.size() - 1, LimitsFor(context), digest_part));
  return ReadyPack(path, reader->index(), parts);
}

}  // namespace wdelta
