#include "progress.h"

#include <algorithm>

#include "numbers.h"
#include "signals.h"

namespace wdelta {

namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kQuietStart = seconds(1);  // work that is over by then needs no line
constexpr auto kRedraw = milliseconds(100);
constexpr auto kPlainEvery = seconds(30);
constexpr std::string_view kEraseLine = "\r\x1b[K";

}  // namespace

ProgressDisplay::ProgressDisplay(std::string verb, ProgressStyle style, std::function<void(std::string_view)> write)
    : verb_(std::move(verb)), style_(style), write_(std::move(write)), started_(Clock::now()), last_shown_(started_) {}

void ProgressDisplay::Update(const Progress& progress) {
  const Clock::time_point now = Clock::now();
  if (TakeStatusRequest()) {
    Clear();
    write_("wdelta: " + Line(progress, now) + '\n');
  }
  if (style_ == ProgressStyle::kTerminal && now - started_ >= kQuietStart && now - last_shown_ >= kRedraw) {
    write_(std::string(kEraseLine) + Line(progress, now));
    line_is_up_ = true;
    last_shown_ = now;
  } else if (style_ == ProgressStyle::kPlain && now - last_shown_ >= kPlainEvery) {
    write_("wdelta: " + Line(progress, now) + '\n');
    last_shown_ = now;
  }
}

void ProgressDisplay::Clear() {
  if (line_is_up_) write_(kEraseLine);
  line_is_up_ = false;
}

std::string ProgressDisplay::Line(const Progress& progress, Clock::time_point now) const {
  const double elapsed = duration<double>(now - started_).count();
  const double rate = elapsed > 0 ? static_cast<double>(progress.done_bytes) / elapsed : 0;
  std::string line = verb_ + ' ' + ByteSize(progress.done_bytes);
  if (progress.total_bytes > 0) {
    line += " of " + ByteSize(progress.total_bytes) + " (" +
            Percent(std::min(progress.done_bytes, progress.total_bytes), progress.total_bytes) + ")";
  }
  line += ", " + ByteSize(static_cast<uint64_t>(rate)) + "/s, " + Duration(elapsed) + " passed";
  if (rate > 0 && progress.total_bytes > progress.done_bytes) {
    line += ", " + Duration(static_cast<double>(progress.total_bytes - progress.done_bytes) / rate) + " left";
  }
  return line;
}

}  // namespace wdelta
