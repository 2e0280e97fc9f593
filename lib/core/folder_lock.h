// The kernel's lock on a folder that one process at a time may work on.
#pragma once

#include <string>

#include "core/file.h"
#include "core/stop.h"

namespace wdelta {

// Takes the lock file at `path`, and waits for it up to `wait` seconds or until a stop. The message of kBusy names `what` and the
// process that holds the lock, as the file says.
Result<File> LockFolder(const std::string& path, const std::string& what, double wait, const StopToken& stop);

}  // namespace wdelta
