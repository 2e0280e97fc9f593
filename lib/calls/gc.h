// gc in a store that is open already.
#pragma once

#include "remote/remote.h"
#include "wdelta.h"

namespace wdelta {

// What Gc does; it ignores `request.remote` and `request.transfer`. `remover` is another handle on the same store, for
// removals, which must not be tried for long.
Result<GcReport> GcFrom(Remote& remote, Remote& remover, const GcRequest& request, const StopToken& stop = {});

}  // namespace wdelta
