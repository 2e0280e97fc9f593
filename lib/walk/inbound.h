// Rebuilding, for the walks that fetch what they apply.
#pragma once

#include "walk/chain.h"
#include "wdelta.h"

namespace wdelta {

// Apply(), by whoever may have proved the deltas already: Trust::kIndex spares reading them once more.
Result<ApplyReport> ApplyDeltas(const ApplyRequest& request, Trust trust, const Context& context);

// Follows packs from an anchor, keeping nothing, and says which state they lead to.
Result<StateDigests> ProveDeltas(const std::vector<std::string>& packs, const Context& context);

}  // namespace wdelta
