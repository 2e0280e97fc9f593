// What a delta would weigh: as a pack, at every level, and in the encodings of other systems.
#pragma once

#include "walk/walk.h"
#include "wdelta.h"

namespace wdelta {

// Makes the pack of the request and throws it away.
Result<PackReport> MeasurePack(PackRequest request, const Context& context);

// `pack` makes the difference that `side` shows. Smallest last is not promised: wdelta's levels first, then others,
// then bounds.
Result<std::vector<EncodingSize>> MeasureEncodings(const Target& side, const PackRequest& pack, const Context& context);

}  // namespace wdelta
