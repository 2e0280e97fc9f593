// What changed, as the reports of diff, pack and stats tell it: from the number of changed units in each tensor to a
// list of tensors, a list of files, and totals.
#pragma once

#include "walk/walk.h"

namespace wdelta {

// How a tensor of the result relates to the base's (null: there is none), by form alone.
ChangeKind Relate(const Tensor* base, const Tensor& next);

struct Difference {
  Totals totals;
  std::vector<TensorChange> tensors;  // every tensor of either side, by name
  std::vector<FileChange> files;      // only those that differ
};

// All that differs between a base (may be null) and a result, given how many units changed in each tensor of the
// result, in its name order.
Difference Summarize(const Checkpoint* base, const Target& target, const std::vector<uint64_t>& units_changed);

}  // namespace wdelta
