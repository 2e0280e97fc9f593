// Patching a checkpoint where it lies, for hosts without room for two.
#pragma once

#include "walk/rebuild.h"

namespace wdelta {

// To be called before the checkpoint at `path` is opened. Refuses (kRefused) files that another process has open or
// mapped, as far as the system tells, and finishes what an interrupted PatchInPlace left.
Result<> PrepareInPlace(const std::string& path, bool durable, const Context& context);

// Makes `opened.base`, which lies at `path`, the result of `opened`. The walk that verifies the outcome writes all new
// values into a journal; no byte of the checkpoint changes before the walk is accepted and the journal is on disk. So
// the checkpoint is read twice: by the walk, and where it is patched. Killed at any moment, the checkpoint is untouched
// or PrepareInPlace completes it.
//
// Where the journal would take more than half of the free space, and the target is resumable, a second walk patches as
// it goes, with a journal of bounded size; killed then, the same deltas applied again complete it.
//
// Refuses (kRefused) files that are symbolic links or have other names too, because others would see them change.
//
// `journal_limit`: in bytes, instead of half of the free space.
Result<Rebuilt> PatchInPlace(const OpenedTarget& opened, const std::string& path, bool durable, const Context& context,
                             std::optional<uint64_t> journal_limit = {});

}  // namespace wdelta
