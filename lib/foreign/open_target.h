// Opens what deltas of any format, ours and those of other systems, lead to.
#pragma once

#include "walk/chain.h"

namespace wdelta {

// Opens `deltas`, in this order, for the checkpoint at `base`. Where `base` is itself a pack, it is the first delta and
// has to be an anchor. Our own deltas say which files belong to the base; without them `files` does. A delta without
// checksums is named in a note. kConflict: a foreign delta is not made for the version that the one before leads to.
Result<OpenedTarget> OpenTarget(const std::string& base, const std::vector<std::string>& deltas,
                                const FileChoice& files, Trust trust, const Context& context);

}  // namespace wdelta
