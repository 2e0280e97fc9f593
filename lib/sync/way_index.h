// Looking into a pack where it lies in a store: its index is read by range, its blocks are not.
#pragma once

#include "pack/container.h"
#include "sync/remote_history.h"

namespace wdelta {

// The index and the layout of the pack that a way is; nothing else of it can be read.
Result<std::unique_ptr<DeltaReader>> OpenWayIndex(Remote& remote, const Way& way, const Context& context);

// The short digest of each tensor of a record's state, for a checkpoint that has the tensors `names`, sorted. kConflict
// if the record has other tensors than these.
Result<std::vector<uint32_t>> TensorDigestsOf(Remote& remote, const RecordEntry& entry,
                                              const std::vector<std::string_view>& names, const Context& context);

// Which files beside the weights were chosen for a record when it was pushed: a checkpoint that is compared with the
// record has to be opened with the same choice. `given`, if it says anything, or if the record's pack is gone.
Result<FileChoice> ChoiceOf(Remote& remote, const RecordEntry& entry, const FileChoice& given, const Context& context);

}  // namespace wdelta
