// Collecting garbage in a store that is open already.
#pragma once

#include "remote/remote.h"
#include "wdelta.h"

namespace wdelta {

// What Collect does; `request.remote` and `request.transfer` do not matter. `remover` is another handle on the same
// store, for what must not be tried for long.
Result<GcReport> GcFrom(Remote& remote, Remote& remover, const GcRequest& request, const StopToken& stop = {});

}  // namespace wdelta
