// How large a delta would be in the encodings that other systems use, and the entropies that bound what can be reached.
// For reports: only sizes are found out, and only what a reader needs is counted, no checksums and no names. Where an
// encoding compresses, it is by zstd -1, a frame for each block.
#pragma once

#include <unordered_map>
#include <vector>

#include "codec/codec.h"

namespace wdelta {

// In bytes.
struct PeerSizes {
  uint64_t raw = 0;    // an int32 index and the new value of each change
  uint64_t gaps = 0;   // u16 gaps between the changes, and their values, a frame of each
  uint64_t xored = 0;  // all elements, old XOR new, in a frame
  // Of the step in the bit pattern (0: no change), as steps are spread in each tensor; and the same given the exponent
  // of the base's element, which whoever decodes has. Only of tensors that the base has.
  double entropy = 0, entropy_given_base = 0;

  void Add(const PeerSizes& other);
};

// Measures tensors, one after the other. For one thread.
class PeerMeter {
 public:
  // A block of the current tensor; `old_block` is empty if the base has no such tensor.
  void AddBlock(ByteSpan old_block, ByteSpan new_block, Dtype dtype);
  // What the blocks since the last call take.
  PeerSizes FinishTensor();

 private:
  uint64_t FrameSize(ByteSpan data);
  void MeasureGaps();
  void CountSteps(ByteSpan old_block, Dtype dtype);

  PeerSizes sizes_;
  BlockDelta changes_;
  Bytes frame_, work_;
  uint64_t units_ = 0;
  std::vector<uint64_t> exponents_;                        // how many elements have each
  std::unordered_map<uint64_t, uint64_t> steps_;           // how many changes made each step
  std::unordered_map<uint64_t, uint64_t> exponent_steps_;  // the same by exponent and step
};

}  // namespace wdelta
