#include "local/trainer_handshake.h"

#include <time.h>
#include <unistd.h>

#include "core/file.h"
#include "core/parallel.h"

namespace wdelta {

Result<> WaitForMarker(const std::string& path) {
  while (!path.empty() && access(path.c_str(), F_OK) != 0) {
    if (StopRequested()) return Error{ErrorKind::kInterrupted, "interrupted while waiting for '" + path + "'"};
    const timespec pause{0, 50'000'000};
    nanosleep(&pause, nullptr);
  }
  return {};
}

Result<> MarkReleased(const std::string& path) {
  if (path.empty()) return {};
  WD_ASSIGN(const std::unique_ptr<ByteSink> sink, OpenSink(path));
  return sink->Commit();
}

}  // namespace wdelta
