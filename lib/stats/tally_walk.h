// Walks that count, for reports: over two checkpoints, or over a base and the deltas that lead on from it.
#pragma once

#include "stats/tally.h"
#include "walk/walk.h"

namespace wdelta {

struct WalkTally {
  std::vector<BlockTally> tensors;  // of the result, by name
  TallyTotals totals;
  WalkDigests digests;  // only of a target that deltas lead to

  std::vector<uint64_t> units_changed() const;
};

// As fast as a diff can be: no digests.
Result<WalkTally> TallyPair(const Checkpoint& base, const Checkpoint& next, const Context& context);

// Decodes the deltas, and verifies the result on the way: kConflict for another base.
Result<WalkTally> TallyTarget(Target& target, const Context& context);

// How a tensor is divided, in units: rows of the last dimension, and, if it stacks the experts of a layer, slices of
// the first. 0: it has no such slices.
uint64_t RowUnits(const Tensor& tensor);
uint64_t ExpertUnits(const Tensor& tensor);

}  // namespace wdelta
