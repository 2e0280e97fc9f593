#include "core/parallel.h"

#include <sched.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace wdelta {

RunLimits LimitsFor(unsigned threads, const StopToken& stop) {
  if (threads == 0) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) threads = static_cast<unsigned>(CPU_COUNT(&allowed));
  }
  threads = std::clamp(threads, 1u, 256u);
  return RunLimits{threads, threads + 3, stop};
}

namespace {

// What the threads of one run share. Indices are claimed in order; the thread that finishes the next index to be
// emitted emits it, and all finished ones behind it, while the others go on working.
class Run {
 public:
  Run(uint64_t count, const RunLimits& limits, const std::function<Result<>(uint64_t, unsigned, unsigned)>& work,
      const std::function<Result<>(uint64_t, unsigned)>& emit)
      : count_(count),
        in_flight_(limits.in_flight),
        stop_(limits.stop),
        work_(work),
        emit_(emit),
        finished_(limits.in_flight, false) {}

  // To the end of the run. An exception ends it as an error does: the other threads must not wait for this one.
  void Work(unsigned worker) noexcept {
    try {
      WorkOn(worker);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!thrown_) thrown_ = std::current_exception();
      room_.notify_all();
    }
  }

  // In the thread that began the run, which is where an exception goes on.
  Result<> TakeResult() {
    if (thrown_) std::rethrow_exception(thrown_);
    if (error_) return std::move(error_);
    return {};
  }

 private:
  bool failed() const { return error_ || thrown_; }

  void WorkOn(unsigned worker) {
    std::unique_lock lock(mutex_);
    for (;;) {
      room_.wait(lock, [&] { return failed() || claimed_ == count_ || claimed_ < emitted_ + in_flight_; });
      if (Result<> stopped = stop_.Check(); !failed() && !stopped.ok()) Fail(std::move(stopped));
      if (failed() || claimed_ == count_) return;
      const uint64_t index = claimed_++;
      const auto slot = static_cast<unsigned>(index % in_flight_);
      lock.unlock();
      Result<> result = work_(index, slot, worker);
      lock.lock();
      if (!result.ok()) return Fail(std::move(result));
      finished_[slot] = true;
      EmitFinished(lock);
    }
  }

  void Fail(Result<> result) {
    if (!error_) error_ = result.TakeError();
    room_.notify_all();
  }

  void EmitFinished(std::unique_lock<std::mutex>& lock) {
    if (emitting_) return;  // that thread will come to ours
    emitting_ = true;
    while (!failed() && emitted_ < count_ && finished_[emitted_ % in_flight_]) {
      const auto slot = static_cast<unsigned>(emitted_ % in_flight_);
      lock.unlock();
      Result<> result = emit_(emitted_, slot);
      lock.lock();
      if (!result.ok()) {
        Fail(std::move(result));
        break;
      }
      finished_[slot] = false;
      ++emitted_;
      room_.notify_all();
    }
    emitting_ = false;
  }

  const uint64_t count_;
  const unsigned in_flight_;
  const StopToken stop_;
  const std::function<Result<>(uint64_t, unsigned, unsigned)>& work_;
  const std::function<Result<>(uint64_t, unsigned)>& emit_;

  std::mutex mutex_;
  std::condition_variable room_;  // an index was emitted, or the run is over
  std::vector<bool> finished_;    // by slot
  uint64_t claimed_ = 0;
  uint64_t emitted_ = 0;  // written by the emitting thread only
  bool emitting_ = false;
  std::unique_ptr<Error> error_;
  std::exception_ptr thrown_;
};

}  // namespace

Result<> RunOrderedSlots(uint64_t count, const RunLimits& limits,
                         const std::function<Result<>(uint64_t, unsigned, unsigned)>& work,
                         const std::function<Result<>(uint64_t, unsigned)>& emit) {
  Run run(count, limits, work, emit);
  const auto helpers = static_cast<unsigned>(std::min<uint64_t>(limits.threads, count)) - (count ? 1 : 0);
  {
    std::vector<std::jthread> threads;
    threads.reserve(helpers);
    for (unsigned worker = 1; worker <= helpers; ++worker) {
      try {
        threads.emplace_back([&run, worker] { run.Work(worker); });
      } catch (const std::system_error&) {
        break;  // no more threads to be had: fewer do the same work
      }
    }
    run.Work(0);
  }
  return run.TakeResult();
}

}  // namespace wdelta
