// What a replica asks of the machine it lies on: a lock, and room.
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <sstream>

#include "core/sleep.h"
#include "local/replica.h"

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
    if (!limit || !used || *limit >> 62) return std::nullopt;  // an absurd limit is none
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

Result<> Replica::CheckSpace(uint64_t bytes) const {
  struct statvfs status;
  if (statvfs(folder_.c_str(), &status) != 0) return SystemError("look at", folder_, errno);
  uint64_t free_bytes = uint64_t{status.f_bavail} * status.f_frsize;
  std::string where = "'" + folder_ + "'";
  if (IsInMemory(folder_)) {
    const std::optional<uint64_t> memory = MemoryLeft();
    if (memory && *memory < free_bytes) {
      free_bytes = *memory;
      where += ", which is memory, under the limit of this control group";
    }
  }
  if (bytes <= free_bytes) return {};
  Error error{ErrorKind::kLocalIo, "not enough room in " + where + ": " + std::to_string(bytes) +
                                       " bytes are needed, " + std::to_string(free_bytes) + " are free"};
  error.path = folder_;
  error.expected = std::to_string(bytes);
  error.found = std::to_string(free_bytes);
  error.hint = "make room, keep fewer versions ('--keep 1'), or patch the one there is with '--in-place'";
  return error;
}

Result<File> LockFolder(const std::string& path, const std::string& what, double wait, const StopToken& stop) {
  const auto open = [&]() -> Result<File> {
    if (access(path.c_str(), F_OK) != 0) {
      Result<File> created = File::CreateNew(path);
      if (created.ok()) return created;
    }
    return File::OpenForUpdate(path);
  };
  WD_ASSIGN(File lock, open());
  for (double waited = 0;; waited += 0.1) {
    WD_ASSIGN(const bool locked, lock.TryLock());
    if (locked) break;
    if (waited >= wait) {
      const Result<Bytes> holder = ReadWholeFile(path, 4096);
      const std::string who = holder.ok() && !holder->empty() ? ": " + std::string(AsText(*holder)) : "";
      return Error{ErrorKind::kBusy, "another process works on '" + what + "'" + who,
                   "wait for it with '--lock-wait 30s'"};
    }
    WD_TRY(SleepFor(0.1, stop));
  }
  char host[256] = "";
  (void)gethostname(host, sizeof host - 1);
  char now[64];
  const time_t seconds = time(nullptr);
  struct tm utc;
  strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &utc));
  const std::string holder = "process " + std::to_string(getpid()) + " on " + host + " since " + now;
  WD_TRY(lock.Resize(0));
  WD_TRY(lock.WriteAt(0, AsBytes(holder)));
  return lock;
}

}  // namespace wdelta
