// SGLang's marker in a copy that SGLang may patch as well (local/sglang_marker.h).
#pragma once

#include "core/context.h"
#include "local/replica.h"
#include "local/sglang_marker.h"

namespace wdelta {

// From now on the copies of the replica carry the marker. The lock in the current copy is held as long as what comes
// back lives. If SGLang has brought the copy to another version, the copy is read and the replica learns which it is.
Result<std::optional<SglangMarker>> KeepMarker(Replica& replica, double lock_wait, const Context& context);

}  // namespace wdelta
