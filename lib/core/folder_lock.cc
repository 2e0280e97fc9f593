#include "core/folder_lock.h"

#include <time.h>
#include <unistd.h>

#include "core/sleep.h"

namespace wdelta {

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
