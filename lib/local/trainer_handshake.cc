#include "local/trainer_handshake.h"

#include <unistd.h>

#include "core/file.h"
#include "core/sleep.h"

namespace wdelta {

Result<> WaitForMarker(const std::string& path, const StopToken& stop) {
  while (!path.empty() && access(path.c_str(), F_OK) != 0) {
    Result<> slept = SleepFor(0.05, stop);
    if (slept.ok()) continue;
    auto error = slept.TakeError();
    error->message += " while waiting for '" + path + "'";
    return error;
  }
  return {};
}

Result<> MarkReleased(const std::string& path) {
  if (path.empty()) return {};
  WD_ASSIGN(const std::unique_ptr<ByteSink> sink, OpenSink(path));
  return sink->Commit();
}

}  // namespace wdelta
