// Removing the objects of a history that no kept record needs.
#pragma once

#include "remote/remote.h"
#include "reports.h"

namespace wdelta {

// `remover` is another handle on the same store, for removals, which must not be tried for long.
Result<GcReport> GcFrom(Remote& remote, Remote& remover, const GcOptions& options, const StopToken& stop = {});

}  // namespace wdelta
