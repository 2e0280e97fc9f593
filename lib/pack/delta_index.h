// What a delta says about itself, whatever container it travels in. Plain values, with their encoding: the layout goes
// ahead of the blocks, because it is known before the first; the index follows them. wdelta-format(5) has the bytes.
#pragma once

#include "codec/codec.h"

namespace wdelta {

// A tensor that the base has and the result has not.
struct RemovedTensor {
  std::string name;
  Dtype dtype = Dtype::kU8;
  std::vector<uint64_t> shape;
};

struct DeltaIndex {
  bool anchor = false;        // a whole checkpoint: there is no base
  Layout layout;              // of the result
  std::vector<bool> carried;  // for each file, shards first: its bytes are in the delta (of a shard: its header)

  StateDigests base, result;  // an anchor's base is all zero
  Totals totals;
  std::vector<TensorRecord> tensors;   // those that are not simply the base's, by name
  std::vector<RemovedTensor> removed;  // by name
  std::vector<uint32_t> base_tensors;  // ShortTensorDigest of every tensor of the base, in its name order
};

Bytes EncodeLayout(const DeltaIndex& index);
Bytes EncodeIndex(const DeltaIndex& index);

// Fill in their part of `index`, and check it: names in order and harmless, forms that multiply without overflow,
// counts that fit. Fail with kIntegrity, or kRefused for hostile names.
Result<> DecodeLayout(ByteSpan bytes, DeltaIndex& index);
Result<> DecodeIndex(ByteSpan bytes, DeltaIndex& index);

// How long a layout or an index may become when it is unpacked from so many bytes. Honest ones shrink by a factor of
// ten; the bound keeps a small hostile one from unpacking to millions of records.
inline constexpr uint64_t kMaxIndexBytes = uint64_t{1} << 28;
inline uint64_t MaxUnpacked(uint64_t packed_bytes) {
  return std::min(kMaxIndexBytes, (uint64_t{1} << 20) + 64 * packed_bytes);
}

}  // namespace wdelta
