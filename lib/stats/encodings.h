// What a delta would weigh: as a pack, at every level, and in the encodings of other systems.
#pragma once

#include "stats_report.h"
#include "walk/walk.h"

namespace wdelta {

// The packs of one difference at several levels, made in one walk and thrown away.
struct PackSizes {
  std::vector<uint64_t> bytes;  // by level, as asked for
  StateDigests base, result;
};
Result<PackSizes> MeasurePacks(const Checkpoint* base, Target& target, const std::vector<Level>& levels,
                               const Context& context);

// The difference between base and target in every encoding: the levels of wdelta first, then other systems, then
// bounds.
struct EncodingSizes {
  std::vector<EncodingSize> rows;
  PackSizes packs;  // at every level, the default one in the middle
};
Result<EncodingSizes> MeasureEncodings(const Checkpoint* base, Target& target, const Context& context);

}  // namespace wdelta
