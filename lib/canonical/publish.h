// Pushing versions for SGLang and Stitch (update_store.h) instead of records of a history.
#pragma once

#include "wdelta.h"

namespace wdelta {

Result<PushReport> PushVersion(const PushRequest& request, const Context& context);

}  // namespace wdelta
