#include "core/file_users.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <functional>

namespace wdelta {

namespace {

// Calls visit(name) for each entry of a folder until it returns true.
bool AnyEntry(const std::string& folder, const std::function<bool(const std::string& name)>& visit) {
  DIR* const open_folder = opendir(folder.c_str());
  if (!open_folder) return false;
  bool found = false;
  while (const dirent* entry = found ? nullptr : readdir(open_folder)) found = visit(entry->d_name);
  closedir(open_folder);
  return found;
}

bool HasOpen(const std::string& process, const struct stat& wanted) {
  return AnyEntry(process + "/fd", [&](const std::string& name) {
    struct stat status;
    return stat((process + "/fd/" + name).c_str(), &status) == 0 && status.st_dev == wanted.st_dev &&
           status.st_ino == wanted.st_ino;
  });
}

bool HasMapped(const std::string& process, const struct stat& wanted) {
  std::ifstream maps(process + "/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned major_number = 0, minor_number = 0;
    uint64_t inode = 0;
    const int fields = std::sscanf(line.c_str(), "%*s %*s %*s %x:%x %" SCNu64, &major_number, &minor_number, &inode);
    if (fields == 3 && inode == wanted.st_ino && major_number == major(wanted.st_dev) &&
        minor_number == minor(wanted.st_dev)) {
      return true;
    }
  }
  return false;
}

std::string Describe(const std::string& process_id) {
  std::ifstream name_file("/proc/" + process_id + "/comm");
  std::string name;
  std::getline(name_file, name);
  return "process " + process_id + (name.empty() ? "" : " (" + name + ")");
}

}  // namespace

// The kernel grants a write lease only while nobody else has the file open, and a mapping keeps it open: one call
// answers for all processes, those that /proc hides too. It is given back at once, because the caller opens the file
// more than once. Where leases are not to be had (another owner, most network file systems) the answer is unknown.
std::optional<std::string> UserOfFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return std::nullopt;
  const bool in_use = fcntl(file, F_SETLEASE, F_WRLCK) != 0 && errno == EAGAIN;
  if (!in_use) fcntl(file, F_SETLEASE, F_UNLCK);
  struct stat wanted;
  const bool known = fstat(file, &wanted) == 0;
  close(file);
  if (!in_use) return std::nullopt;
  std::string user = "another process";
  AnyEntry("/proc", [&](const std::string& name) {
    if (!known || !std::isdigit(static_cast<unsigned char>(name[0]))) return false;
    const std::string process = "/proc/" + name;
    const bool found = HasOpen(process, wanted) || HasMapped(process, wanted);
    if (found) user = Describe(name);
    return found;
  });
  return user;
}

}  // namespace wdelta
