// Looking into a pack where it lies in a store: its index is read by range, its blocks are not. That is enough to tell
// which tensors of two checkpoints differ.
#pragma once

#include "checkpoint/checkpoint.h"
#include "pack/container.h"
#include "reports.h"
#include "sync/remote_history.h"

namespace wdelta {

// The index and the layout of the pack that a way is; nothing else of it can be read.
Result<std::unique_ptr<DeltaReader>> OpenWayIndex(Remote& remote, const Way& way, const Context& context);

// Which files beside the weights were chosen for a record when it was pushed: a checkpoint that is compared with the
// record has to be opened with the same choice. `given`, if it says anything, or if the record's pack is gone.
Result<FileChoice> ChoiceOf(Remote& remote, const RecordEntry& entry, const FileChoice& given, const Context& context);

// The tensors of a checkpoint or of a record, by short digests.
struct TensorList {
  StateDigests state;              // of a record without its layout
  std::vector<std::string> names;  // sorted
  std::vector<uint32_t> digests;   // of each
};
// Reads all of the checkpoint.
Result<TensorList> ListTensors(const Checkpoint& checkpoint, const Context& context);
// Those of a record whose tensors have these names, sorted. kConflict if it has other tensors.
Result<TensorList> ListTensors(Remote& remote, const RecordEntry& entry, const std::vector<std::string>& names,
                               const Context& context);
// The names of a record's tensors.
Result<std::vector<std::string>> TensorNames(RemoteHistory& history, const RecordEntry& target, const Context& context);

// The names of the tensors that differ, and whether they were added, removed or changed; nothing else of them is known.
std::vector<TensorChange> Differing(const TensorList& base, const TensorList& next);

}  // namespace wdelta
