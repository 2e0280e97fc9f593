#include "remote/folder_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/file.h"
#include "remote/remote_key.h"

namespace wdelta {

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

Error FolderError(std::string_view action, const std::string& path, int errno_value) {
  Error error = SystemError(action, path, errno_value);
  if (errno_value == ESTALE || errno_value == ETIMEDOUT) error.kind = ErrorKind::kTransient;
  return error;
}

Result<Descriptor> OpenRoot(const std::string& root) {
  const int descriptor = open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return FolderError("open", root, errno);
  return Descriptor(descriptor);
}

Result<bool> Look(const Descriptor& folder, const std::string& name, const std::string& path, struct stat* status) {
  if (fstatat(folder.get(), name.c_str(), status, AT_SYMLINK_NOFOLLOW) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return FolderError("look at", path, errno);
}

namespace {

// A folder inside another.
Result<Descriptor> Enter(const Descriptor& folder, const std::string& name, const std::string& path) {
  const int descriptor = openat(folder.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor >= 0) return Descriptor(descriptor);
  const int errno_value = errno;
  struct stat status;
  if ((errno_value == ENOTDIR || errno_value == ELOOP) &&
      fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode)) {
    return Error{ErrorKind::kRefused, "'" + path + "' is a symbolic link, which is not followed inside a remote"}.At(
        path);
  }
  return FolderError("open", path, errno_value);
}

}  // namespace

Result<std::vector<std::string>> NamesIn(const Descriptor& folder, const std::string& path) {
  const int copy = fcntl(folder.get(), F_DUPFD_CLOEXEC, 0);
  DIR* stream = copy >= 0 ? fdopendir(copy) : nullptr;
  if (!stream) {
    const int errno_value = errno;
    if (copy >= 0) close(copy);
    return FolderError("read", path, errno_value);
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = readdir(stream)) {
    std::string name = entry->d_name;
    unsigned char type = entry->d_type;
    struct stat status;
    if (type == DT_UNKNOWN && fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
      type = static_cast<unsigned char>(IFTODT(status.st_mode));
    if (type == DT_DIR) name += '/';
    if (type == DT_DIR || type == DT_REG) names.push_back(std::move(name));
    errno = 0;
  }
  const int errno_value = errno;
  closedir(stream);
  if (errno_value) return FolderError("read", path, errno_value);
  return names;
}

Result<Place> FindPlace(const std::string& root, std::string_view key, const OnWay& made) {
  WD_ASSIGN(Descriptor folder, OpenRoot(root));
  size_t begin = 0;
  for (size_t slash; (slash = key.find('/', begin)) != std::string_view::npos; begin = slash + 1) {
    const std::string name(key.substr(begin, slash - begin));
    const std::string way(key.substr(0, slash));
    if (made) {
      if (mkdirat(folder.get(), name.c_str(), 0777) != 0 && errno != EEXIST)
        return FolderError("create", root + "/" + way, errno);
      WD_TRY(made(folder, way));
    }
    WD_ASSIGN(folder, Enter(folder, name, root + "/" + way));
  }
  return Place{std::move(folder), std::string(key.substr(begin))};
}

namespace {

class Lister {
 public:
  Lister(std::string root, const std::string& prefix, const std::string& after, size_t limit, const StopToken& stop)
      : root_(std::move(root)), prefix_(prefix), after_(after), limit_(limit), stop_(stop) {}

  Result<ObjectPage> Run() {
    WD_ASSIGN(const Descriptor folder, OpenRoot(root_));
    WD_TRY(Walk(folder, ""));
    if (page_.objects.size() > limit_) {
      page_.objects.pop_back();
      page_.more = true;
    }
    return std::move(page_);
  }

 private:
  bool Full() const { return page_.objects.size() > limit_; }

  // `way`: the folder's path below the root, "" or "a/b/".
  Result<> Walk(const Descriptor& folder, const std::string& way) {
    WD_ASSIGN(const std::vector<std::string> names, SortedNames(folder, way));
    for (const std::string& name : names) {
      WD_TRY(stop_.Check());
      if (Full()) return {};
      if (name.back() == '/') {
        auto inner = Enter(folder, name.substr(0, name.size() - 1), root_ + "/" + way + name);
        if (!inner.ok() && inner.error().kind == ErrorKind::kNotFound) continue;  // gone meanwhile
        if (!inner.ok()) return inner.TakeError();
        WD_TRY(Walk(*inner, way + name));
        continue;
      }
      struct stat status;
      WD_ASSIGN(const bool there, Look(folder, name, root_ + "/" + way + name, &status));
      if (there && S_ISREG(status.st_mode))
        page_.objects.push_back({way + name, static_cast<uint64_t>(status.st_size), status.st_mtim.tv_sec});
    }
    return {};
  }

  // The names in a folder that may lead to wanted keys, those of folders with a slash at their end. Every key below the
  // folder "a" begins with "a/", so that in this order "a-b" and "a.b" come before what is in "a", and "ab" after it.
  Result<std::vector<std::string>> SortedNames(const Descriptor& folder, const std::string& way) {
    WD_ASSIGN(std::vector<std::string> names, NamesIn(folder, root_ + "/" + way));
    std::erase_if(names, [&](const std::string& name) { return !Wanted(way + name); });
    std::sort(names.begin(), names.end());
    return names;
  }

  bool Wanted(const std::string& way) const {
    if (!ValidKeyPrefix(way)) return false;
    if (way.back() != '/') return way.starts_with(prefix_) && way > after_;
    return (way.starts_with(prefix_) || prefix_.starts_with(way)) && (way > after_ || after_.starts_with(way));
  }

  const std::string root_;
  const std::string& prefix_;
  const std::string& after_;
  const size_t limit_;
  const StopToken& stop_;
  ObjectPage page_;
};

}  // namespace

Result<ObjectPage> ListBelow(const std::string& root, const std::string& prefix, const std::string& after,
                             unsigned limit, const StopToken& stop) {
  return Lister(root, prefix, after, limit, stop).Run();
}

}  // namespace wdelta
