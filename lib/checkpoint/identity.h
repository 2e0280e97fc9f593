// Who a checkpoint is. Three SHA-256 digests, as wdelta-format(5) defines them:
//   fingerprint  its tensors, however they are spread over files: digest over the tensor digests in name order
//   layout       its file names, shard headers and companions (layout.h)
//   state        both: this very checkpoint
// A tensor digest covers name, dtype, shape and the XXH3-128 of each block, so it is computed in the pass that reads
// the blocks, at memory speed, and no tensor needs to be read in one piece.
#pragma once

#include <string_view>

#include "checkpoint/dtype.h"
#include "core/digest.h"

namespace wdelta {

using TensorDigest = Sha256Digest;

// The short form that packs store for every tensor, to tell people which one differs: the first four bytes. It proves
// nothing; the fingerprint does.
inline uint32_t ShortTensorDigest(const TensorDigest& digest) {
  return Load<uint32_t>(digest.data());
}

// Takes the digests of a tensor's blocks, in order.
class TensorHasher {
 public:
  TensorHasher(std::string_view name, Dtype dtype, std::span<const uint64_t> shape);
  void Add(const BlockDigest& block) { sha256_.Update(block); }
  TensorDigest Finish() { return sha256_.Finish(); }

 private:
  Sha256 sha256_;
};

struct StateDigests {
  Sha256Digest fingerprint{}, layout{}, state{};
  bool operator==(const StateDigests&) const = default;
};

Sha256Digest Fingerprint(std::span<const TensorDigest> tensors_by_name);
StateDigests CombineState(const Sha256Digest& fingerprint, const Sha256Digest& layout);

}  // namespace wdelta
