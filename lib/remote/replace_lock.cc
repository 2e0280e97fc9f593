#include "remote/replace_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "core/sleep.h"

namespace wdelta {

namespace {

constexpr double kPoll = 0.001;  // seconds; whoever has the lock has it for less

// Whether the name still leads to the open file. Somebody may have tidied up while we waited, and then the next one
// locks another file of that name.
Result<bool> IsStillThere(const Descriptor& folder, const Descriptor& file, const std::string& path) {
  struct stat ours, theirs;
  if (fstat(file.get(), &ours) != 0) return FolderError("look at", path, errno);
  WD_ASSIGN(const bool there, Look(folder, kReplaceLock, path, &theirs));
  return there && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

}  // namespace

Result<Descriptor> TakeReplaceLock(const Descriptor& folder, const std::string& path, const StopToken& stop) {
  const std::string lock_path = path + "/" + kReplaceLock;
  for (;;) {
    // For writing, too: a lock on a file server needs that.
    Descriptor file(openat(folder.get(), kReplaceLock, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
    if (file.get() < 0) return FolderError("open", lock_path, errno);
    while (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) return FolderError("lock", lock_path, errno);
      WD_TRY(SleepFor(kPoll, stop));
    }
    WD_ASSIGN(const bool still_there, IsStillThere(folder, file, lock_path));
    if (still_there) return file;
  }
}

}  // namespace wdelta
