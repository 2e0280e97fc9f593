// Patching a checkpoint where it lies.
#pragma once

#include "walk/chain.h"

namespace wdelta {

// Finishes what an interrupted ApplyInPlace left behind in the checkpoint at `path`, as far as its journal tells; call
// it before the checkpoint is opened. Nothing to finish is success. A path comes back if the journal holds the pack
// that was being applied: whoever patches this checkpoint next has to apply that first.
Result<std::string> RecoverInPlace(const std::string& path, bool durable);

// Turns `base` into the result of `chain`, after a walk that kept nothing has proved that the outcome will be right.
// Killed at any moment, the same call made again finishes with exactly the right bytes. Refuses (kRefused) files that
// are symbolic links or have other names too, because whoever else uses them would see them change.
//
// `only_copy`: a pack of the whole chain that the caller could not make a second time, from a base that is half
// patched; the journal keeps it. Else null.
Result<> ApplyInPlace(const Checkpoint& base, const ChainTarget& chain, const File* only_copy, bool durable,
                      const Context& context);
// What ApplyInPlace was interrupted in is done, whoever did it.
Result<> DropJournal(const std::string& path, bool durable);

}  // namespace wdelta
