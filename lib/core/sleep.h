// The one way to wait: a pause that a stop ends.
#pragma once

#include "core/stop.h"

namespace wdelta {

// kInterrupted as soon as a stop was requested, at once if it was before.
Result<> SleepFor(double seconds, const StopToken& stop);

}  // namespace wdelta
