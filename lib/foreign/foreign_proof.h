// Does a checkpoint have what a delta of another system leads to? The one thing that such a delta says about a
// checkpoint without being applied.
#pragma once

#include "checkpoint/checkpoint.h"
#include "core/stop.h"
#include "foreign/foreign.h"

namespace wdelta {

// By the checksums of the tensors that the delta changes: the name of one that is another, or empty. Reads those
// tensors.
Result<std::string> TensorUnlike(const Checkpoint& checkpoint, const ForeignDelta& delta, const StopToken& stop);

}  // namespace wdelta
