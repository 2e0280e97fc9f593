// What both containers are fuzzed for: open any bytes as a delta, take everything out of it that can be taken, and walk
// it over a base that it may have been made for.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "support/loose_delta.h"
#include "walk/chain.h"
#include "walk/rebuild.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace wdelta {

struct DeltaTarget {
  DeltaTarget() { WriteSampleDeltas(folder); }

  void TakeEverything(ByteSpan input) const {
    folder.Write("input", AsText(input));
    Result<std::unique_ptr<DeltaReader>> opened = OpenDelta(folder / "input", Trust::kIndex, {});
    if (!opened.ok()) return;
    const DeltaReader& delta = **opened;
    (void)delta.CheckWhole().ok();
    BlockDelta changes;
    for (size_t record = 0; record < delta.index().tensors.size(); ++record) {
      const TensorRecord& tensor = delta.index().tensors[record];
      const auto places = delta.TensorBlocks(record);
      if (!places.ok()) continue;
      for (const BlockPlace& place : *places) {
        const uint64_t bytes = *TensorBytes(tensor.dtype, tensor.shape);
        if (place.number >= BlockCount(bytes)) continue;
        Bytes block(BlockLength(bytes, place.number));
        if (!delta.DecodeTensorBlock(record, place, place.has_old ? block : Bytes{}, changes).ok()) continue;
        (void)PatchBlock(changes, UnitBytes(tensor.dtype), block).ok();
      }
    }
    Walk(opened.ok() ? std::move(*opened) : nullptr);
  }

  // The walk of apply, keeping nothing.
  void Walk(std::unique_ptr<DeltaReader> delta) const {
    auto base = Checkpoint::Open(folder / "a", {}, [](const std::string&) {});
    if (!base.ok()) std::abort();
    std::vector<std::unique_ptr<DeltaReader>> deltas;
    deltas.push_back(std::move(delta));
    auto chain = OpenChain(SelfTarget(*base), std::move(deltas));
    if (!chain.ok()) return;
    const OpenedTarget opened{nullptr, std::move(*chain)};
    (void)VerifyTarget(opened, {.threads = 1}).ok();
  }

  Bytes Sample(const char* name) const {
    const std::string text = folder.Read(name);
    return {text.begin(), text.end()};
  }

  // The sample again, if it is a delta without a fault: mutations of anything else would find little.
  Bytes Accepted(Bytes sample) const {
    folder.Write("sample", AsText(sample));
    const auto opened = OpenDelta(folder / "sample", Trust::kWhole, {});
    if (!opened.ok() || !(*opened)->CheckWhole().ok()) std::abort();
    return sample;
  }

  ScratchFolder folder;
};

// A mutator that begins with a real delta when it has nothing better.
inline size_t MutateSample(const std::vector<Bytes>& samples, uint8_t* data, size_t size, size_t max_size,
                           unsigned seed) {
  const Bytes& sample = samples[seed % samples.size()];
  if ((size < 16 || seed % 50 == 0) && sample.size() <= max_size) {
    std::copy(sample.begin(), sample.end(), data);
    size = sample.size();
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

}  // namespace wdelta
