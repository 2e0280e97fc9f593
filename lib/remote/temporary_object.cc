#include "remote/temporary_object.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "core/digest.h"
#include "remote/replace_lock.h"

namespace wdelta {

namespace {

constexpr size_t kPieceSize = 1 << 20;
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
  Bytes piece(std::min<uint64_t>(source.size(), kPieceSize));
  for (uint64_t at = 0; at < source.size();) {
    WD_TRY(stop.Check());
    const MutableByteSpan part(piece.data(), std::min<uint64_t>(source.size() - at, kPieceSize));
    WD_TRY(source.ReadAt(at, part));
    for (ByteSpan rest = part; !rest.empty();) {
      const ssize_t put = pwrite(file_.get(), rest.data(), rest.size(), static_cast<off_t>(at));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return FolderError("write", path_, errno);
      rest = rest.subspan(static_cast<size_t>(put));
      at += static_cast<uint64_t>(put);
    }
  }
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
  const int copy = now.ok() ? fcntl(folder_.get(), F_DUPFD_CLOEXEC, 0) : -1;
  DIR* stream = copy >= 0 ? fdopendir(copy) : nullptr;
  if (!stream) {
    if (copy >= 0) close(copy);
    return;
  }
  std::vector<std::string> old;
  while (const dirent* entry = readdir(stream)) {
    struct stat status;
    if (entry->d_name == std::string_view(kReplaceLock)) continue;
    if (fstatat(copy, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
        status.st_mtim.tv_sec < now->st_mtim.tv_sec - kLeftoverAge)
      old.emplace_back(entry->d_name);
  }
  for (const std::string& name : old) unlinkat(copy, name.c_str(), 0);
  closedir(stream);
}

}  // namespace wdelta
