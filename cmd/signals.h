// What the outside may tell a running command. SIGINT and SIGTERM ask the library to stop, once: it then cleans up and
// reports kInterrupted; the same signal again ends the process at once. SIGUSR1 asks for one line of status. SIGPIPE is
// ignored, because a write that fails is noticed where it happens and the temporary files can still be removed.
#pragma once

#include "wdelta.h"

namespace wdelta {

void InstallSignalHandlers();

// What SIGINT and SIGTERM stop: the token of every call.
StopToken StopBySignal();

// The signal that asked to stop, or 0.
int StopSignal();

// True once for each time that status was asked for.
bool TakeStatusRequest();

// Nobody reads what we write to standard output any more: it is a pipe or socket whose other end is closed.
bool StandardOutputIsAbandoned();

}  // namespace wdelta
