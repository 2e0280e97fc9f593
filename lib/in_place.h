// Patching a checkpoint where it lies.
#pragma once

#include "chain.h"

namespace wdelta {

// Finishes what an interrupted ApplyInPlace left behind in the checkpoint at `path`, as far as its journal tells; call
// it before the checkpoint is opened. Nothing to finish is success.
Result<> RecoverInPlace(const std::string& path, bool durable);

// Turns `base` into the result of `chain`, after a walk that kept nothing has proved that the outcome will be right.
// Killed at any moment, the same call made again finishes with exactly the right bytes. Refuses (kRefused) files that
// are symbolic links or have other names too, because whoever else uses them would see them change.
Result<> ApplyInPlace(const Checkpoint& base, const ChainSide& chain, bool durable, const Context& context);

}  // namespace wdelta
