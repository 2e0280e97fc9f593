// file:// as a remote: a folder of this machine or of a file server, where the path of a file below the folder is the
// key of an object.
//
// A write puts an object under a random name into ROOT/.tmp, syncs it, and then links it to its name: link() fails if
// the name exists, on local file systems and on NFS, and readers see whole objects only. What a crash leaves in .tmp is
// removed by the next write a day later. On a file system in memory nothing is synced.
//
// The etag of an object is made of the file's number, size and time. No system call replaces a file only if it is still
// the same, so a conditional replacement compares and renames under a lock (replace_lock.h), which other writes do not
// take.
//
// No symbolic link below ROOT is followed. ROOT itself may be one; it is created by the first write.
#pragma once

#include "remote/remote.h"

namespace wdelta {

// file:///abs/path or file://localhost/abs/path, percent-encoded where need be; else kUsage.
Result<std::unique_ptr<Remote>> OpenFolderRemote(const std::string& url, const StopToken& stop);

}  // namespace wdelta
