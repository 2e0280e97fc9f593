// Pushing versions for SGLang and Stitch (version_store.h) instead of records of a history. Nothing in the store says
// what the newest version looks like, so the pusher remembers which version its base is.
#pragma once

#include "sync/push_base.h"

namespace wdelta {

// A checkpoint becomes the next version: the delta from the one before, or all of it.
Result<PushReport> PublishVersion(Session& session, const PushOptions& options, const Context& context);

}  // namespace wdelta
