// How a call of the library is asked to end early.
//
// The one who may stop a call keeps a StopSource and puts its token into the Context of the call. After Request() every
// call that has the token ends soon with kInterrupted and leaves nothing half done. The next call takes a token of a
// fresh source; calls with different tokens do not stop each other. std::stop_source would do the same, but takes a
// lock, and this one has to be safe in a signal handler.
#pragma once

#include <atomic>
#include <memory>

#include "result.h"

namespace wdelta {

// Copies look at the same source. One that was made from nothing never stops.
class StopToken {
 public:
  StopToken() = default;

  bool requested() const noexcept { return flag_ && flag_->load(std::memory_order_relaxed); }
  // Goes on, or ends what is under way.
  Result<> Check() const {
    if (requested()) return Error{ErrorKind::kInterrupted, "interrupted"};
    return {};
  }

 private:
  friend class StopSource;
  explicit StopToken(std::shared_ptr<const std::atomic<bool>> flag) : flag_(std::move(flag)) {}
  std::shared_ptr<const std::atomic<bool>> flag_;
};

class StopSource {
 public:
  StopToken token() const { return StopToken(flag_); }
  // From any thread, and from a signal handler as long as the source lives.
  void Request() const noexcept { flag_->store(true, std::memory_order_relaxed); }

 private:
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");
  std::shared_ptr<std::atomic<bool>> flag_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace wdelta
