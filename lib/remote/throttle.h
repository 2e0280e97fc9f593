// Shares a number of bytes a second among all transfers: each takes its bytes in turn and sleeps until they are due.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "core/sleep.h"
#include "core/stopwatch.h"

namespace wdelta {

class Throttle {
 public:
  Throttle(uint64_t bytes_per_second, StopToken stop)
      : rate_(static_cast<double>(bytes_per_second)), stop_(std::move(stop)) {}

  void Take(size_t bytes) {
    if (rate_ <= 0) return;
    double due = 0;
    {
      const std::lock_guard lock(mutex_);
      const double now = watch_.seconds();
      next_ = std::max(next_, now - 0.05) + static_cast<double>(bytes) / rate_;
      due = next_;
    }
    // The transfer itself notices a stop, and may go on to its end all the same.
    static_cast<void>(SleepFor(due - watch_.seconds(), stop_));
  }

 private:
  const double rate_;
  const StopToken stop_;
  std::mutex mutex_;
  const Stopwatch watch_;
  double next_ = 0;
};

}  // namespace wdelta
