// The way out, for those that begin it elsewhere.
#pragma once

#include "walk/difference.h"
#include "wdelta.h"

namespace wdelta {

struct Written {
  Difference difference;
  DeltaIndex index;
  WalkDigests digests;
  std::unique_ptr<DeltaWriter> writer;  // not finished: the caller may still find a reason not to
};

// The whole way for everything that writes a delta. `base` is null for an anchor.
Result<Written> WriteDelta(const Checkpoint* base, const Target& side, const Context& context,
                           const std::function<Result<std::unique_ptr<DeltaWriter>>(const DeltaIndex& plan)>& create);

}  // namespace wdelta
