#include "core/sleep.h"

#include <time.h>

#include <algorithm>

#include "core/stopwatch.h"
#include "core/try.h"

namespace wdelta {

// A token cannot wake a sleeper: a signal handler sets it, and may set a flag but take no lock. So the sleeper looks at
// it twenty times a second.
Result<> SleepFor(double seconds, const StopToken& stop) {
  constexpr double kLook = 0.05;
  const Stopwatch watch;
  for (;;) {
    WD_TRY(stop.Check());
    const double left = seconds - watch.seconds();
    if (left <= 0) return {};
    const timespec nap{0, static_cast<long>(std::min(left, kLook) * 1e9)};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, nullptr);  // a signal ends it early, and then the token is worth a look
  }
}

}  // namespace wdelta
