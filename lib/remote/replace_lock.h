// The moment between looking at a file of a folder and replacing it, in which nobody else may do the same.
//
// It is the kernel's lock on a file in ROOT/.tmp that stays there for good. Processes of one host exclude each other,
// and so do the threads of one; those of several hosts do if the file server passes on locks. It is held for the time
// of a rename, and the kernel takes it back from a process that ends, however that ends.
#pragma once

#include <string>

#include "core/stop.h"
#include "remote/folder_tree.h"

namespace wdelta {

inline constexpr char kReplaceLock[] = "replace.lock";

// Waits for the lock, and holds it until the descriptor closes; kInterrupted if a stop is requested before that.
// `path` is that of `folder`, for messages.
Result<Descriptor> TakeReplaceLock(const Descriptor& folder, const std::string& path, const StopToken& stop);

}  // namespace wdelta
