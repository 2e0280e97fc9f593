// How a call runs: on how many threads, until when, in which environment, and whom it tells what it does.
#pragma once

#include <cstdint>
#include <functional>

#include "environment.h"
#include "stop.h"
#include "words.h"

namespace wdelta {

struct Progress {
  uint64_t done_bytes = 0;
  uint64_t total_bytes = 0;
};

struct Context {
  unsigned threads = 0;  // 0: one for each processor
  StopToken stop{};      // from a StopSource, to end the call early; as it is, nothing does
  Environment environment = ProcessEnvironment();
  NoteSink note = [](const std::string&) {};
  // Called as work goes on, from any thread but never from two at a time.
  std::function<void(const Progress&)> progress = [](const Progress&) {};
};

}  // namespace wdelta
