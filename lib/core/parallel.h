// The one place where threads live. RunOrdered does `count` pieces of work on several threads and hands their results
// over in order, so that what comes out never depends on how many threads there were.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/context.h"
#include "core/try.h"

namespace wdelta {

struct RunLimits {
  unsigned threads = 1;
  unsigned in_flight = 4;  // pieces begun and not yet handed over: this bounds memory, whatever `count` is
  StopToken stop{};        // ends the run soon, with kInterrupted
};

// Limits for `threads` threads (0: one for each processor that this process may use).
RunLimits LimitsFor(unsigned threads, const StopToken& stop);
inline RunLimits LimitsFor(const Context& context) {
  return LimitsFor(context.threads, context.stop);
}

// The untyped core: results wait in `slot`, a number below limits.in_flight.
Result<> RunOrderedSlots(uint64_t count, const RunLimits& limits,
                         const std::function<Result<>(uint64_t index, unsigned slot, unsigned worker)>& work,
                         const std::function<Result<>(uint64_t index, unsigned slot)>& emit);

// Calls work(index, worker) for 0 <= index < count, each exactly once, in any order and at the same time on different
// threads; `worker` < limits.threads names the thread, for scratch memory. Calls emit(index, result) in the order of
// the indices, never two at a time. The first error ends it all and is returned: no work begins after it. What
// either of them throws ends it, too, and is thrown again from here.
template <class R>
Result<> RunOrdered(uint64_t count, const RunLimits& limits,
                    const std::function<Result<R>(uint64_t index, unsigned worker)>& work,
                    const std::function<Result<>(uint64_t index, R result)>& emit) {
  std::vector<std::optional<R>> slots(limits.in_flight);
  return RunOrderedSlots(
      count, limits,
      [&](uint64_t index, unsigned slot, unsigned worker) -> Result<> {
        WD_ASSIGN(slots[slot], work(index, worker));
        return {};
      },
      [&](uint64_t index, unsigned slot) -> Result<> {
        R result = std::move(*slots[slot]);
        slots[slot].reset();
        return emit(index, std::move(result));
      });
}

// The results of work(index), in the order of the indices.
template <class R, class Work>
Result<std::vector<R>> CollectOrdered(uint64_t count, const RunLimits& limits, const Work& work) {
  std::vector<R> results;
  WD_TRY(RunOrdered<R>(
      count, limits, [&](uint64_t index, unsigned) -> Result<R> { return work(index); },
      [&](uint64_t, R result) -> Result<> {
        results.push_back(std::move(result));
        return {};
      }));
  return results;
}

}  // namespace wdelta
