#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <mutex>
#include <set>

#include "core/file.h"
#include "remote/folder_tree.h"
#include "remote/http_text.h"
#include "remote/remote_key.h"
#include "remote/stores.h"
#include "remote/temporary_object.h"

namespace wdelta {
namespace {

constexpr size_t kReadBytes = 8 << 20;  // at once, between two looks whether to stop

std::string EtagOf(const struct stat& status) {
  return std::to_string(status.st_ino) + "-" + std::to_string(status.st_size) + "-" +
         std::to_string(status.st_mtim.tv_sec) + "." + std::to_string(status.st_mtim.tv_nsec);
}

class FolderRemote final : public Remote {
 public:
  FolderRemote(std::string url, std::string root, const StopToken& stop)
      : url_(std::move(url)), root_(std::move(root)), stop_(stop) {}

  const std::string& url() const override { return url_; }
  Result<ObjectPiece> Read(const std::string& key, uint64_t offset, uint64_t length, const std::string& etag) override;
  Result<WriteResult> Write(const std::string& key, const ByteSource& source, WriteRule rule,
                            const std::string& etag) override;
  Result<std::optional<ObjectInfo>> Stat(const std::string& key) override;
  Result<ObjectPage> List(const std::string& prefix, const std::string& after, unsigned limit) override;
  Result<> Remove(const std::string& key) override;
  std::vector<std::pair<std::string, std::string>> Describe() override { return {{"folder", root_}}; }

 private:
  std::string PathOf(const std::string& key) const { return root_ + "/" + key; }
  Error NoSuchObject(const std::string& key) const;
  Error InTheWay(const std::string& key, const char* what) const;
  Result<Temporary> FillTemporary(const ByteSource& source);
  Result<> CreateRoot();
  Result<> SyncOnce(const Descriptor& holder, const std::string& way);
  Result<WriteResult> ReplaceIfEtag(const std::string& key, const ByteSource& source, const std::string& etag);
  Result<bool> HasEtag(const Place& place, const std::string& key, const std::string& etag, struct stat* status) const;
  Result<> Rename(const Temporary& file, const Place& place, const std::string& key) const;
  Result<WriteResult> Link(const Temporary& file, const Place& place, const std::string& key) const;
  Result<WriteResult> Exists(const Place& place, const std::string& key) const;
  int64_t Now() const;

  const std::string url_, root_;
  const StopToken stop_;
  std::atomic<bool> tidied_ = false;
  std::mutex mutex_;
  std::set<std::string> synced_;  // folders below the root whose names are known to be on disk
};

Error FolderRemote::NoSuchObject(const std::string& key) const {
  return Error{ErrorKind::kNotFound, "no object '" + key + "' in '" + url_ + "'"}.At(PathOf(key));
}

Error FolderRemote::InTheWay(const std::string& key, const char* what) const {
  return Error{ErrorKind::kRefused, "'" + PathOf(key) + "' is " + what + ", not an object"}.At(PathOf(key));
}

Result<ObjectPiece> FolderRemote::Read(const std::string& key, uint64_t offset, uint64_t length,
                                       const std::string& etag) {
  WD_TRY(stop_.Check());
  WD_TRY(CheckKey(key));
  const auto place = FindPlace(root_, key, nullptr);
  if (!place.ok() && place.error().kind == ErrorKind::kNotFound) return NoSuchObject(key);
  if (!place.ok()) return Error(place.error());
  const Descriptor file(
      openat(place->folder.get(), place->name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0 && errno == ENOENT) return NoSuchObject(key);
  if (file.get() < 0 && errno == ELOOP) return InTheWay(key, "a symbolic link");
  if (file.get() < 0) return FolderError("open", PathOf(key), errno);
  struct stat status;
  if (fstat(file.get(), &status) != 0) return FolderError("look at", PathOf(key), errno);
  if (S_ISDIR(status.st_mode)) return NoSuchObject(key);
  if (!S_ISREG(status.st_mode)) return InTheWay(key, "not a regular file");

  ObjectPiece piece;
  piece.size = static_cast<uint64_t>(status.st_size);
  piece.etag = EtagOf(status);
  if (!etag.empty() && etag != piece.etag)
    return Error{ErrorKind::kConflict, "object '" + key + "' in '" + url_ + "' changed while it was read"}.At(
        PathOf(key));
  if (offset >= piece.size) return piece;
  piece.bytes.resize(std::min(length, piece.size - offset));
  for (size_t done = 0; done < piece.bytes.size();) {
    WD_TRY(stop_.Check());
    const ssize_t got = pread(file.get(), piece.bytes.data() + done, std::min(piece.bytes.size() - done, kReadBytes),
                              static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FolderError("read", PathOf(key), errno);
    if (got == 0) return Error{ErrorKind::kTransient, "'" + PathOf(key) + "' became shorter while it was read"};
    done += static_cast<size_t>(got);
  }
  return piece;
}

// mkdir -p, each new name synced.
Result<> FolderRemote::CreateRoot() {
  std::vector<std::string> missing;
  for (std::string path = root_; access(path.c_str(), F_OK) != 0 && errno == ENOENT; path = ParentFolder(path))
    missing.push_back(path);
  for (; !missing.empty(); missing.pop_back()) {
    const std::string& path = missing.back();
    if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) return FolderError("create", path, errno);
    WD_TRY(SyncFolder(ParentFolder(path)));
  }
  return {};
}

// Another process may have created the folder a moment ago without its name being on disk yet, so the first write into
// each folder syncs the one that holds it.
Result<> FolderRemote::SyncOnce(const Descriptor& holder, const std::string& way) {
  {
    const std::lock_guard lock(mutex_);
    if (synced_.contains(way)) return {};
  }
  WD_TRY(SyncToDisk(holder, root_ + "/" + way));
  const std::lock_guard lock(mutex_);
  synced_.insert(way);
  return {};
}

// All the bytes, and on disk.
Result<Temporary> FolderRemote::FillTemporary(const ByteSource& source) {
  WD_ASSIGN(Temporary file, Temporary::Create(root_));
  if (!tidied_.exchange(true)) file.RemoveLeftovers();
  WD_TRY(file.Fill(source, stop_));
  return file;
}

Result<> FolderRemote::Rename(const Temporary& file, const Place& place, const std::string& key) const {
  if (renameat(file.folder().get(), file.name().c_str(), place.folder.get(), place.name.c_str()) == 0) return {};
  if (errno == EISDIR) return InTheWay(key, "a folder");
  return FolderError("create", PathOf(key), errno);
}

Result<WriteResult> FolderRemote::Write(const std::string& key, const ByteSource& source, WriteRule rule,
                                        const std::string& etag) {
  WD_TRY(stop_.Check());
  WD_TRY(CheckKey(key));
  WD_TRY(CheckEtagIsNamed(rule, etag));
  if (rule == WriteRule::kIfEtag) return ReplaceIfEtag(key, source, etag);
  WD_TRY(CreateRoot());
  auto found =
      FindPlace(root_, key, [this](const Descriptor& holder, const std::string& way) { return SyncOnce(holder, way); });
  if (!found.ok() && found.error().kind == ErrorKind::kNotFound)
    return Error{ErrorKind::kRefused, "cannot create '" + PathOf(key) + "': a file is where a folder should be"}.At(
        PathOf(key));
  if (!found.ok()) return found.TakeError();
  const Place& place = *found;
  if (rule == WriteRule::kIfAbsent) {  // spares the bytes
    struct stat status;
    WD_ASSIGN(const bool there, Look(place.folder, place.name, PathOf(key), &status));
    if (there) return Exists(place, key);
  }
  WD_ASSIGN(const Temporary file, FillTemporary(source));
  WriteResult result = WriteResult::kWritten;
  if (rule == WriteRule::kIfAbsent) {
    WD_ASSIGN(result, Link(file, place, key));
  } else {
    WD_TRY(Rename(file, place, key));
  }
  if (result == WriteResult::kWritten) WD_TRY(SyncToDisk(place.folder, ParentFolder(PathOf(key))));
  return result;
}

Result<bool> FolderRemote::HasEtag(const Place& place, const std::string& key, const std::string& etag,
                                   struct stat* status) const {
  WD_ASSIGN(const bool there, Look(place.folder, place.name, PathOf(key), status));
  return there && S_ISREG(status->st_mode) && EtagOf(*status) == etag;
}

Result<WriteResult> FolderRemote::ReplaceIfEtag(const std::string& key, const ByteSource& source,
                                                const std::string& etag) {
  const auto place = FindPlace(root_, key, nullptr);
  if (!place.ok() && place.error().kind == ErrorKind::kNotFound) return WriteResult::kChanged;
  if (!place.ok()) return Error(place.error());
  struct stat current;
  WD_ASSIGN(bool still, HasEtag(*place, key, etag, &current));  // spares the bytes
  if (!still) return WriteResult::kChanged;
  WD_ASSIGN(const Temporary file, FillTemporary(source));
  {
    WD_ASSIGN(const Descriptor lock, TakeReplaceLock(file.folder(), root_ + "/" + kTemporaryFolder, stop_));
    WD_ASSIGN(still, HasEtag(*place, key, etag, &current));
    if (!still) return WriteResult::kChanged;
    WD_TRY(file.BeYoungerThan(current));
    WD_TRY(Rename(file, *place, key));
  }
  WD_TRY(SyncToDisk(place->folder, ParentFolder(PathOf(key))));
  return WriteResult::kWritten;
}

Result<WriteResult> FolderRemote::Exists(const Place& place, const std::string& key) const {
  struct stat status;
  WD_ASSIGN(const bool there, Look(place.folder, place.name, PathOf(key), &status));
  if (there && S_ISDIR(status.st_mode)) return InTheWay(key, "a folder");
  return WriteResult::kExists;
}

Result<WriteResult> FolderRemote::Link(const Temporary& file, const Place& place, const std::string& key) const {
  const int from = file.folder().get(), to = place.folder.get();
  if (linkat(from, file.name().c_str(), to, place.name.c_str(), 0) == 0) return WriteResult::kWritten;
  int errno_value = errno;
  // Over NFS the answer to a link that succeeded may be lost, and its repetition then finds the name taken: by us.
  WD_ASSIGN(const struct stat status, file.Status());
  if (status.st_nlink == 2) return WriteResult::kWritten;
  if (errno_value == EPERM || errno_value == EOPNOTSUPP || errno_value == ENOSYS) {  // no hard links there
    if (renameat2(from, file.name().c_str(), to, place.name.c_str(), RENAME_NOREPLACE) == 0)
      return WriteResult::kWritten;
    errno_value = errno;
    if (errno_value == EINVAL || errno_value == ENOSYS || errno_value == EOPNOTSUPP) {
      return Error{ErrorKind::kRefused,
                   "the file system of '" + root_ + "' cannot create a file only if it is absent (link, renameat2)"}
          .At(PathOf(key));
    }
  }
  if (errno_value == EEXIST) return Exists(place, key);
  return FolderError("create", PathOf(key), errno_value);
}

Result<std::optional<ObjectInfo>> FolderRemote::Stat(const std::string& key) {
  WD_TRY(stop_.Check());
  WD_TRY(CheckKey(key));
  const auto place = FindPlace(root_, key, nullptr);
  if (!place.ok() && place.error().kind == ErrorKind::kNotFound) return std::optional<ObjectInfo>();
  if (!place.ok()) return Error(place.error());
  struct stat status;
  WD_ASSIGN(const bool there, Look(place->folder, place->name, PathOf(key), &status));
  if (!there || S_ISDIR(status.st_mode)) return std::optional<ObjectInfo>();
  if (!S_ISREG(status.st_mode)) return InTheWay(key, "not a regular file");
  return std::optional(ObjectInfo{key, static_cast<uint64_t>(status.st_size), status.st_mtim.tv_sec});
}

int64_t FolderRemote::Now() const {
  if (const auto touched = Temporary::Create(root_); touched.ok()) {
    if (const auto status = touched->Status(); status.ok()) return status->st_mtim.tv_sec;
  }
  return time(nullptr);
}

Result<ObjectPage> FolderRemote::List(const std::string& prefix, const std::string& after, unsigned limit) {
  WD_TRY(stop_.Check());
  WD_TRY(CheckKeyPrefix(prefix));
  auto page = ListBelow(root_, prefix, after, std::clamp(limit, 1U, 1000U), stop_);
  if (!page.ok() && page.error().kind == ErrorKind::kNotFound) page = ObjectPage();
  if (page.ok()) page->now = Now();
  return page;
}

Result<> FolderRemote::Remove(const std::string& key) {  // after a stop, too: that is tidying up
  WD_TRY(CheckKey(key));
  const auto place = FindPlace(root_, key, nullptr);
  if (!place.ok() && place.error().kind == ErrorKind::kNotFound) return {};
  if (!place.ok()) return Error(place.error());
  if (unlinkat(place->folder.get(), place->name.c_str(), 0) != 0 && errno != ENOENT && errno != EISDIR)
    return FolderError("remove", PathOf(key), errno);
  return {};
}

}  // namespace

Result<std::string> PathOfFileUrl(const std::string& url) {
  constexpr std::string_view kScheme = "file://";
  const auto wrong = [&](const std::string& why) {
    return Error{ErrorKind::kUsage, "'" + url + "' " + why, "write file:///absolute/path"};
  };
  if (!url.starts_with(kScheme)) return wrong("is not a file:// URL");
  const std::string_view rest = std::string_view(url).substr(kScheme.size());
  const size_t slash = rest.find('/');
  const std::string_view host = rest.substr(0, slash);
  if (!host.empty() && host != "localhost") return wrong("has a host or a relative path, which file:// cannot have");
  if (slash == std::string_view::npos) return wrong("has no path");
  std::optional<std::string> path = PercentDecode(rest.substr(slash), /*plus_is_space=*/false);
  if (!path) return wrong("has a '%' without two hexadecimal digits after it");
  if (path->find('\0') != std::string::npos) return wrong("has a zero byte in its path");
  while (path->size() > 1 && path->back() == '/') path->pop_back();
  if (*path == "/") return wrong("names no folder");
  return *path;
}

Result<std::unique_ptr<Remote>> OpenFolderRemote(const std::string& url, const StopToken& stop) {
  WD_ASSIGN(std::string root, PathOfFileUrl(url));
  std::string name = url;
  while (name.back() == '/') name.pop_back();
  return std::unique_ptr<Remote>(std::make_unique<FolderRemote>(std::move(name), std::move(root), stop));
}

}  // namespace wdelta
