// Shares a number of bytes a second among all transfers: each takes its bytes in turn and sleeps until they are due.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <mutex>

#include "core/sleep.h"

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
      const double now = MonotonicSeconds();
      next_ = std::max(next_, now - 0.05) + static_cast<double>(bytes) / rate_;
      due = next_;
    }
    // The transfer itself notices a stop, and may go on to its end all the same.
    static_cast<void>(SleepFor(due - MonotonicSeconds(), stop_));
  }

 private:
  static double MonotonicSeconds() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }

  const double rate_;
  const StopToken stop_;
  std::mutex mutex_;
  double next_ = 0;
};

}  // namespace wdelta
