#include "stats/encodings.h"

#include <cmath>

#include "codec/peer_sizes.h"
#include "core/parallel.h"

namespace wdelta {

Result<PackReport> MeasurePack(PackRequest request, const Context& context) {
  request.output = "/dev/null";
  request.check = false;
  return Pack(request, context);
}

namespace {

// Tensor by tensor, because the entropies are those of whole tensors.
Result<PeerSizes> MeasurePeers(const Target& side, const Context& context) {
  const RunLimits limits = LimitsFor(context);
  std::vector<WalkScratch> scratch(limits.threads);
  std::vector<PeerMeter> meters(limits.threads);
  PeerSizes sum;
  WD_TRY(RunOrdered<PeerSizes>(
      side.tensors().size(), limits,
      [&](uint64_t index, unsigned worker) -> Result<PeerSizes> {
        const Tensor& tensor = side.tensors()[index];
        for (uint64_t number = 0; number < BlockCount(tensor.bytes); ++number) {
          WD_ASSIGN(const LoadedBlock block, side.Load(static_cast<uint32_t>(index), number, scratch[worker]));
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

Result<std::vector<EncodingSize>> MeasureEncodings(const Target& side, const PackRequest& pack,
                                                   const Context& context) {
  std::vector<EncodingSize> sizes;
  PackRequest request = pack;
  for (const auto& [level, name] : {std::pair{Level::kFast, "wdelta --level fast"},
                                    {Level::kDefault, "wdelta"},
                                    {Level::kMax, "wdelta --level max"}}) {
    request.level = level;
    WD_ASSIGN(const PackReport packed, MeasurePack(request, context));
    sizes.push_back({name, "", packed.delta_bytes, false});
  }
  WD_ASSIGN(const PeerSizes peers, MeasurePeers(side, context));
  const auto whole = [](double bytes) { return static_cast<uint64_t>(std::llround(bytes)); };
  sizes.push_back({"int32 index + value, raw", "TRL", peers.raw, false});
  sizes.push_back({"u16 gap + value, zstd -1", "PULSE, grail", peers.gaps, false});
  sizes.push_back({"XOR, zstd -1", "slime, SGLang, Stitch, ModelExpress", peers.xored, false});
  sizes.push_back({"entropy of the steps", "", whole(peers.entropy), true});
  sizes.push_back({"entropy of the steps, given the base's exponents", "", whole(peers.entropy_given_base), true});
  return sizes;
}

}  // namespace wdelta
