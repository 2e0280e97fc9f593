#include "core/path.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>

namespace wdelta {

namespace fs = std::filesystem;

Error SystemError(std::string_view action, std::string_view path, int errno_value) {
  ErrorKind kind = ErrorKind::kLocalIo;
  if (errno_value == ENOENT || errno_value == ENOTDIR) kind = ErrorKind::kNotFound;
  if (errno_value == EACCES || errno_value == EPERM) kind = ErrorKind::kDenied;
  if (errno_value == ELOOP || errno_value == ENAMETOOLONG) kind = ErrorKind::kRefused;
  Error error{kind, "cannot " + std::string(action) + " '" + std::string(path) + "': " + std::strerror(errno_value)};
  error.path = path;
  if (errno_value == ENOSPC || errno_value == EDQUOT) error.hint = "free some space, then run the same command again";
  if (errno_value == ELOOP) error.hint = "a symbolic link leads back to itself; name what it should lead to";
  if (errno_value == ENAMETOOLONG) error.hint = "a name may have 255 bytes, and a path 4095; use a shorter one";
  return error;
}

namespace {

std::string_view WithoutTrailingSlash(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return path;
}

std::optional<struct stat> StatusOf(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

struct StreamCloser {
  void operator()(DIR* stream) const { closedir(stream); }
};

EntryKind KindOf(DIR* stream, const dirent& entry) {
  unsigned char type = entry.d_type;
  struct stat status;
  // Some file systems do not say it in the listing.
  if (type == DT_UNKNOWN && fstatat(dirfd(stream), entry.d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
    type = static_cast<unsigned char>(IFTODT(status.st_mode));
  if (type == DT_REG) return EntryKind::kFile;
  if (type == DT_DIR) return EntryKind::kFolder;
  return type == DT_LNK ? EntryKind::kLink : EntryKind::kOther;
}

// Each entry as it comes, so that a folder with millions of them need not be held in memory.
Result<> VisitFolder(const std::string& path, const std::function<Result<>(FolderEntry entry)>& visit) {
  const std::unique_ptr<DIR, StreamCloser> stream(opendir(path.c_str()));
  if (!stream) return SystemError("read", path, errno);
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(stream.get());
    if (!entry && errno != 0) return SystemError("read", path, errno);
    if (!entry) return {};
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") WD_TRY(visit({std::string(name), KindOf(stream.get(), *entry)}));
  }
}

}  // namespace

std::string ParentFolder(const std::string& path) {
  const std::string_view trimmed = WithoutTrailingSlash(path);
  const size_t slash = trimmed.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(trimmed.substr(0, slash == 0 ? 1 : slash));
}

std::string LastComponent(const std::string& path) {
  const std::string_view trimmed = WithoutTrailingSlash(path);
  return std::string(trimmed.substr(trimmed.rfind('/') + 1));
}

Result<std::string> AbsolutePath(const std::string& path) {
  std::error_code failed;
  const fs::path absolute = fs::absolute(path, failed);
  if (failed) return SystemError("find", path, failed.value());
  return absolute.lexically_normal().string();
}

Result<std::string> RealPath(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  if (!real) return SystemError("open", path, errno);
  return std::string(real.get());
}

std::string TemporaryNameBeside(const std::string& path) {
  std::random_device random;
  return ParentFolder(path) + "/." + LastComponent(path) + ".wdelta-" + std::to_string(getpid()) + "-" +
         std::to_string(random());
}

bool GlobMatch(std::string_view pattern, std::string_view text) {
  // Greedy with one point of return: when a literal fails, the last star takes one character more. Never exponential.
  size_t p = 0, t = 0, star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool PathExists(const std::string& path) {
  return StatusOf(path).has_value();
}

bool IsFolder(const std::string& path) {
  const auto status = StatusOf(path);
  return status && S_ISDIR(status->st_mode);
}

bool IsEmptyFolder(const std::string& path) {
  std::error_code failed;
  return IsFolder(path) && fs::is_empty(path, failed) && !failed;
}

bool IsRegularFile(const std::string& path) {
  const auto status = StatusOf(path);
  return status && S_ISREG(status->st_mode);
}

std::optional<uint64_t> SizeOfFile(const std::string& path) {
  const auto status = StatusOf(path);
  if (!status || !S_ISREG(status->st_mode)) return std::nullopt;
  return static_cast<uint64_t>(status->st_size);
}

bool IsSameFile(const std::string& one, const std::string& other) {
  const auto first = StatusOf(one), second = StatusOf(other);
  return first && second && first->st_dev == second->st_dev && first->st_ino == second->st_ino;
}

bool IsLink(const std::string& path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

std::optional<std::string> LinkTarget(const std::string& path) {
  std::error_code failed;
  const fs::path target = fs::read_symlink(path, failed);
  if (failed) return std::nullopt;
  return target.string();
}

Result<std::vector<FolderEntry>> ListFolder(const std::string& path) {
  std::vector<FolderEntry> entries;
  WD_TRY(VisitFolder(path, [&](FolderEntry entry) -> Result<> {
    entries.push_back(std::move(entry));
    return {};
  }));
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return entries;
}

Result<> WalkTree(const std::string& folder, const std::function<Result<bool>(const std::string&, EntryKind)>& visit) {
  std::vector<std::string> ahead = {""};  // folders to be entered, by their paths from `folder`
  while (!ahead.empty()) {
    const std::string below = std::move(ahead.back());
    ahead.pop_back();
    WD_TRY(VisitFolder(below.empty() ? folder : folder + "/" + below, [&](const FolderEntry& entry) -> Result<> {
      std::string path = below.empty() ? entry.name : below + "/" + entry.name;
      WD_ASSIGN(const bool enter, visit(path, entry.kind));
      if (enter && entry.kind == EntryKind::kFolder) ahead.push_back(std::move(path));
      return {};
    }));
  }
  return {};
}

Result<> CreateFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0777) != 0) return SystemError("create", path, errno);
  return {};
}

Result<> CreateFolders(const std::string& path) {
  std::error_code failed;
  fs::create_directories(path, failed);
  if (failed) return SystemError("create", path, failed.value());
  return {};
}

Result<> SyncFolder(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return SystemError("open", path, errno);
  const int failed = fsync(descriptor);
  const int errno_value = errno;
  close(descriptor);
  if (failed && errno_value != EINVAL) return SystemError("sync", path, errno_value);  // EINVAL: cannot be synced
  return {};
}

Result<> Rename(const std::string& from, const std::string& to, bool durable) {
  if (rename(from.c_str(), to.c_str()) != 0) return SystemError("create", to, errno);
  if (durable) return SyncFolder(ParentFolder(to));
  return {};
}

Result<> LinkFile(const std::string& from, const std::string& to) {
  if (link(from.c_str(), to.c_str()) != 0) return SystemError("link", from, errno);
  return {};
}

Result<> CopyFile(const std::string& from, const std::string& to) {
  std::error_code failed;
  fs::copy_file(from, to, failed);
  if (failed) return SystemError("copy", from, failed.value());
  return {};
}

void RemoveTree(const std::string& path) noexcept {
  try {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  } catch (const std::exception&) {  // no memory for a name
  }
}

void RemoveTemporaries(const std::string& folder) noexcept {
  try {
    const auto entries = ListFolder(folder);
    if (!entries.ok()) return;
    for (const FolderEntry& entry : *entries) {
      if (entry.name.starts_with('.') && entry.name.find(".wdelta-") != std::string::npos)
        RemoveTree(folder + "/" + entry.name);
    }
  } catch (const std::exception&) {
  }
}

}  // namespace wdelta
