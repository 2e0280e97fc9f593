// file:// as a remote: a folder of this machine or of a file server, where the path of a file below the folder is the
// key of an object.
//
// An object is written under a random name in ROOT/.tmp, synced, and then linked to its name: link() creates a name if
// nobody has, on local file systems and on NFS, and readers see whole objects only. What a crash leaves in .tmp is
// removed a day later by somebody's next write. On a file system in memory nothing is synced.
//
// A file's number, size and time are the version of an object. There is no call that replaces a file only if it is
// still the same, so whoever does that compares and renames under a lock (replace_lock.h), which the other writes do
// not take.
//
// No symbolic link below ROOT is followed. ROOT itself may be one; it is created by the first write.
#pragma once

#include "remote/remote.h"

namespace wdelta {

// file:///abs/path or file://localhost/abs/path, percent-encoded where need be; else kUsage.
Result<std::unique_ptr<Remote>> OpenFolderRemote(const std::string& url, const StopToken& stop);

}  // namespace wdelta
