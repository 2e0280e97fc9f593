#include "core/free_space.h"

#include <sys/statvfs.h>
#include <sys/vfs.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>

#include "core/file.h"

namespace wdelta {

namespace {

constexpr long kTmpfsMagic = 0x01021994, kRamfsMagic = static_cast<long>(0x858458f6);

// The files of the kernel say that they have no bytes, so they are read to their end.
std::string KernelText(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<uint64_t> NumberInFile(const std::string& path) {
  const std::string text = KernelText(path);
  uint64_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc{}) return std::nullopt;
  return number;
}

// What the control group of this process may still take of memory; nullopt: no limit.
std::optional<uint64_t> MemoryLeft() {
  const auto left = [](const std::string& limit_file, const std::string& used_file) -> std::optional<uint64_t> {
    const std::optional<uint64_t> limit = NumberInFile(limit_file), used = NumberInFile(used_file);
    if (!limit || !used || *limit >> 62) return std::nullopt;  // an absurd limit is not one
    return *limit > *used ? *limit - *used : 0;
  };
  // The group of this process, as /proc/self/cgroup names it: "0::/path" in one hierarchy of all, "4:memory:/path" in
  // one of its own. A group is bounded by those above it, too.
  const std::string groups = KernelText("/proc/self/cgroup");
  std::optional<uint64_t> least;
  const auto look = [&](std::string_view mark, const std::string& root, const char* limit, const char* used) {
    const size_t at = groups.find(mark);
    if (at == std::string::npos) return;
    std::string group = groups.substr(at + mark.size(), groups.find('\n', at) - at - mark.size());
    for (;; group.resize(group.rfind('/'))) {
      const std::optional<uint64_t> here = left(root + group + limit, root + group + used);
      if (here && (!least || *here < *least)) least = here;
      if (group.find('/') == std::string::npos) return;
    }
  };
  look("0::", "/sys/fs/cgroup", "/memory.max", "/memory.current");
  look(":memory:", "/sys/fs/cgroup/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes");
  return least;
}

}  // namespace

bool IsInMemory(const std::string& path) {
  struct statfs status;
  if (statfs(path.c_str(), &status) != 0) return false;
  return status.f_type == kTmpfsMagic || status.f_type == kRamfsMagic;
}

Result<uint64_t> FreeBytes(const std::string& folder) {
  struct statvfs status;
  if (statvfs(folder.c_str(), &status) != 0) return SystemError("look at", folder, errno);
  const uint64_t free_bytes = uint64_t{status.f_bavail} * status.f_frsize;
  if (!IsInMemory(folder)) return free_bytes;
  return std::min(free_bytes, MemoryLeft().value_or(free_bytes));
}

Result<> CheckSpace(const std::string& folder, uint64_t bytes, const std::string& hint) {
  WD_ASSIGN(const uint64_t free_bytes, FreeBytes(folder));
  if (bytes <= free_bytes) return {};
  return Error{ErrorKind::kLocalIo,
               "not enough room in '" + folder + "'" + (IsInMemory(folder) ? ", which is memory" : "") + ": " +
                   std::to_string(bytes) + " bytes are needed, " + std::to_string(free_bytes) + " are free",
               hint}
      .At(folder)
      .Compared(std::to_string(bytes), std::to_string(free_bytes));
}

}  // namespace wdelta
