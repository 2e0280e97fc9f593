#include "stats/encodings.h"

#include <cmath>

#include "codec/peer_sizes.h"
#include "core/parallel.h"
#include "walk/write_delta.h"

namespace wdelta {

namespace {

// Several pack writers as one: a block is coded by each, so that one walk serves all levels.
class SeveralPacks final : public DeltaWriter {
 public:
  explicit SeveralPacks(std::vector<std::unique_ptr<DeltaWriter>> writers) : writers_(std::move(writers)) {}

  Result<> AddFileBlock(size_t file, uint64_t number, ByteSpan content) override {
    for (const auto& writer : writers_) WD_TRY(writer->AddFileBlock(file, number, content));
    return {};
  }
  // For each writer: its codec, the length of what it made, and that.
  Result<Bytes> Prepare(const BlockChange& change, uint8_t*) const override {
    ByteWriter all;
    for (const auto& writer : writers_) {
      uint8_t codec = 0;
      WD_ASSIGN(const Bytes coded, writer->Prepare(change, &codec));
      all.Fixed(codec);
      all.Fixed(static_cast<uint64_t>(coded.size()));
      all.Raw(coded);
    }
    return Bytes(all.bytes().begin(), all.bytes().end());
  }
  Result<> AddTensorBlock(const Tensor& tensor, uint64_t ordinal, const PreparedBlock& block) override {
    ByteReader all(block.coded);
    for (const auto& writer : writers_) {
      PreparedBlock one{block.place};
      WD_ASSIGN(one.codec, all.Fixed<uint8_t>());
      WD_ASSIGN(const uint64_t length, all.Fixed<uint64_t>());
      WD_ASSIGN(const ByteSpan coded, all.Raw(length));
      one.coded.assign(coded.begin(), coded.end());
      WD_TRY(writer->AddTensorBlock(tensor, ordinal, one));
    }
    return {};
  }
  Result<> Finish(const DeltaIndex& index) override {
    for (const auto& writer : writers_) WD_TRY(writer->Finish(index));
    return {};
  }
  std::vector<uint64_t> sizes() const {
    std::vector<uint64_t> sizes;
    for (const auto& writer : writers_) sizes.push_back(writer->written());
    return sizes;
  }

 private:
  std::vector<std::unique_ptr<DeltaWriter>> writers_;
};

// Tensor by tensor, because the entropies are those of whole tensors.
Result<PeerSizes> MeasurePeers(const Target& target, const Context& context) {
  const RunLimits limits = LimitsFor(context);
  std::vector<WalkScratch> scratch(limits.threads);
  std::vector<PeerMeter> meters(limits.threads);
  PeerSizes sum;
  WD_TRY(RunOrdered<PeerSizes>(
      target.tensors().size(), limits,
      [&](uint64_t index, unsigned worker) -> Result<PeerSizes> {
        const Tensor& tensor = target.tensors()[index];
        for (uint64_t number = 0; number < BlockCount(tensor.bytes); ++number) {
          WD_ASSIGN(const LoadedBlock block, target.Load(static_cast<uint32_t>(index), number, scratch[worker]));
          meters[worker].AddBlock(block.same ? block.new_block : block.old_block, block.new_block, tensor.dtype);
        }
        return meters[worker].FinishTensor();
      },
      [&](uint64_t, const PeerSizes& sizes) -> Result<> {
        sum.Add(sizes);
        return {};
      }));
  return sum;
}

}  // namespace

Result<PackSizes> MeasurePacks(const Checkpoint* base, Target& target, const std::vector<Level>& levels,
                               const Context& context) {
  SeveralPacks* several = nullptr;
  WD_ASSIGN(Written written,
            WriteDelta(base, target, context, [&](const DeltaIndex& plan) -> Result<std::unique_ptr<DeltaWriter>> {
              std::vector<std::unique_ptr<DeltaWriter>> writers;
              for (const Level level : levels) {
                WD_ASSIGN(writers.emplace_back(), CreatePack("/dev/null", plan, {level, nullptr, false}));
              }
              auto made = std::make_unique<SeveralPacks>(std::move(writers));
              several = made.get();
              return std::unique_ptr<DeltaWriter>(std::move(made));
            }));
  WD_TRY(written.writer->Finish(written.index));
  return PackSizes{several->sizes(), written.index.base, written.index.result};
}

Result<EncodingSizes> MeasureEncodings(const Checkpoint* base, Target& target, const Context& context) {
  EncodingSizes out;
  std::vector<EncodingSize>& sizes = out.rows;
  WD_ASSIGN(out.packs, MeasurePacks(base, target, {Level::kFast, Level::kDefault, Level::kMax}, context));
  sizes.push_back({"wdelta --level fast", "", out.packs.bytes[0], false});
  sizes.push_back({"wdelta", "", out.packs.bytes[1], false});
  sizes.push_back({"wdelta --level max", "", out.packs.bytes[2], false});
  WD_ASSIGN(const PeerSizes peers, MeasurePeers(target, context));
  const auto whole = [](double bytes) { return static_cast<uint64_t>(std::llround(bytes)); };
  sizes.push_back({"int32 index + value, raw", "TRL", peers.raw, false});
  sizes.push_back({"u16 gap + value, zstd -1", "PULSE, grail", peers.gaps, false});
  sizes.push_back({"XOR, zstd -1", "slime, SGLang, Stitch, ModelExpress", peers.xored, false});
  sizes.push_back({"entropy of the steps", "", whole(peers.entropy), true});
  sizes.push_back({"entropy of the steps, given the base's exponents", "", whole(peers.entropy_given_base), true});
  return out;
}

}  // namespace wdelta
