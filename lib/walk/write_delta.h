// One walk over a target that puts what changed into a container.
#pragma once

#include "walk/difference.h"

namespace wdelta {

struct Written {
  Difference difference;
  DeltaIndex index;
  WalkDigests digests;
  std::unique_ptr<DeltaWriter> writer;  // not finished: the caller may still find a reason not to
};

using CreateWriter = std::function<Result<std::unique_ptr<DeltaWriter>>(const DeltaIndex& plan)>;

// Writes the delta from `base` to `target`; `base` is null for an anchor. `create` may be called more than once: what
// it made before is then dropped.
Result<Written> WriteDelta(const Checkpoint* base, Target& target, const Context& context, const CreateWriter& create);

}  // namespace wdelta
