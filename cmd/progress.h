// How far a long command has come, on standard error. On a terminal: one line that is rewritten, with rate and time
// left, once the work has taken a second. Elsewhere: a plain line every 30 seconds, so that a log neither stays silent
// nor fills up. SIGUSR1 gets one line at once, whatever the style.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "wdelta.h"

namespace wdelta {

enum class ProgressStyle { kTerminal, kPlain, kNone };

class ProgressDisplay {
 public:
  // `write` puts text on standard error. `verb` is the command's name.
  ProgressDisplay(std::string verb, ProgressStyle style, std::function<void(std::string_view)> write);

  void Update(const Progress& progress);
  // Takes the line off the terminal, before anything else is written there.
  void Clear();

 private:
  using Clock = std::chrono::steady_clock;
  std::string Line(const Progress& progress, Clock::time_point now) const;

  std::string verb_;
  ProgressStyle style_;
  std::function<void(std::string_view)> write_;
  Clock::time_point started_, last_shown_;
  bool line_is_up_ = false;
};

}  // namespace wdelta
