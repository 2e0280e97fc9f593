// Files by which a trainer and a push tell each other whose turn it is with the source.
#pragma once

#include <string>

#include "core/stop.h"

namespace wdelta {

// Returns when the file is there; at once if no name is given.
Result<> WaitForMarker(const std::string& path, const StopToken& stop);
// Creates the file: the source may be overwritten. Nothing, if no name is given.
Result<> MarkReleased(const std::string& path);

}  // namespace wdelta
