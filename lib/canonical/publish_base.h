// Is a checkpoint the newest version of a store that does not say what that looks like? As far as that can be known.
#pragma once

#include "canonical/version_store.h"
#include "checkpoint/checkpoint.h"
#include "local/pusher_state.h"

namespace wdelta {

// The newest version was pushed from here: is the base that, by its state, and is it still in the store? kConflict.
Result<> CheckOwnVersion(VersionStore& store, PusherState& home, uint64_t newest, const std::string& base,
                         const Sha256Digest& base_state);

// Another pusher pushed it. If it is a delta, it says what its tensors are. kConflict.
Result<> CheckOthersVersion(VersionStore& store, const PusherState& home, uint64_t newest, const Checkpoint& base,
                            const Context& context);

// Fetches a version that is a delta into `folder`, and compares the checkpoint with what the delta says of the tensors
// that it changes: the name of one that differs, or empty.
Result<std::string> TensorUnlikeVersion(VersionStore& store, uint64_t version, const CanonicalIndex& index,
                                        const Checkpoint& checkpoint, const std::string& folder, unsigned jobs,
                                        const Context& context);

}  // namespace wdelta
