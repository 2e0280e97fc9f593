#include "remote/temporary_object.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/digest.h"
#include "core/sleep.h"

namespace wdelta {

namespace {

constexpr time_t kLeftoverAge = 24 * 3600;

bool IsInMemory(const Descriptor& file) {
  struct statfs status;
  return fstatfs(file.get(), &status) == 0 && (status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC);
}

}  // namespace

Result<> SyncToDisk(const Descriptor& file, const std::string& path) {
  if (IsInMemory(file)) return {};
  if (fsync(file.get()) != 0 && errno != EINVAL) return FolderError("sync", path, errno);  // EINVAL: cannot be synced
  return {};
}

Temporary::Temporary(Descriptor folder, std::string name, Descriptor file, std::string path)
    : folder_(std::move(folder)), name_(std::move(name)), file_(std::move(file)), path_(std::move(path)) {}

Temporary::~Temporary() {
  if (folder_.get() >= 0) unlinkat(folder_.get(), name_.c_str(), 0);
}

Result<Temporary> Temporary::Create(const std::string& root) {
  const std::string name = RandomHex(12), key = std::string(kTemporaryFolder) + "/" + name;
  WD_ASSIGN(Place place, FindPlace(root, key, [](const Descriptor&, const std::string&) { return Result<>(); }));
  Descriptor file(openat(place.folder.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (file.get() < 0) return FolderError("create", root + "/" + key, errno);
  return Temporary(std::move(place.folder), name, std::move(file), root + "/" + key);
}

Result<struct stat> Temporary::Status() const {
  struct stat status;
  if (fstat(file_.get(), &status) != 0) return FolderError("look at", path_, errno);
  return status;
}

Result<> Temporary::Fill(const ByteSource& source, const StopToken& stop) const {
  uint64_t at = 0;
  const auto write_all = [&](ByteSpan rest) -> Result<> {
    while (!rest.empty()) {
      const ssize_t put = pwrite(file_.get(), rest.data(), rest.size(), static_cast<off_t>(at));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return FolderError("write", path_, errno);
      rest = rest.subspan(static_cast<size_t>(put));
      at += static_cast<uint64_t>(put);
    }
    return {};
  };
  WD_TRY(ForEachPiece(source, write_all, stop));
  return SyncToDisk(file_, path_);
}

Result<> Temporary::BeYoungerThan(const struct stat& older) const {
  WD_ASSIGN(const struct stat status, Status());
  const timespec &ours = status.st_mtim, &theirs = older.st_mtim;
  if (std::pair(ours.tv_sec, ours.tv_nsec) > std::pair(theirs.tv_sec, theirs.tv_nsec)) return {};
  timespec times[] = {{0, UTIME_OMIT}, {theirs.tv_sec, theirs.tv_nsec + 1}};
  if (times[1].tv_nsec == 1'000'000'000) times[1] = {theirs.tv_sec + 1, 0};
  if (futimens(file_.get(), times) != 0) return FolderError("set the time of", path_, errno);
  return {};
}

void Temporary::RemoveLeftovers() const {
  const auto now = Status();
  if (!now.ok()) return;
  const auto names = NamesIn(folder_, path_);
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    struct stat status;
    if (name == kReplaceLock) continue;
    if (fstatat(folder_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
        status.st_mtim.tv_sec < now->st_mtim.tv_sec - kLeftoverAge)
      unlinkat(folder_.get(), name.c_str(), 0);
  }
}

namespace {

constexpr double kPoll = 0.001;  // seconds; whoever has the lock has it for less

// Whether the name still leads to the open file. Another process may have tidied up while we waited, and then the next
// one locks another file of that name.
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
