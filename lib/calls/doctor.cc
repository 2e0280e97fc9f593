// Does a store keep its promises, and is a folder fit for a replica? Findings for people who look for a fault; safe to
// paste, because nothing secret is in them.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

#include "core/boundary.h"
#include "core/digest.h"
#include "core/folder_lock.h"
#include "core/free_space.h"
#include "local/replica.h"
#include "sync/record_commit.h"
#include "sync/session.h"
#include "wdelta.h"

namespace wdelta {

namespace {

class Examination {
 public:
  Result<std::vector<Finding>> Take() { return std::move(findings_); }

  void Good(std::string name, std::string text) { Tell(true, std::move(name), std::move(text), {}); }
  void Bad(std::string name, std::string text) { Tell(false, std::move(name), {}, std::move(text)); }
  void Tell(bool good, std::string name, std::string if_good, std::string if_bad) {
    findings_.push_back({std::move(name), good ? std::move(if_good) : std::move(if_bad), !good});
  }
  template <class T>
  bool Tried(const std::string& name, const Result<T>& result) {
    if (!result.ok()) Bad(name, result.error().message);
    return result.ok();
  }

  void LookAtRemote(Session& session) {
    Remote& remote = session.remote();
    const std::string key = "probe/" + RandomHex(16);
    const std::string text = RandomHex(512);
    LookAtHistory(session.history());
    for (const auto& [name, value] : remote.Describe()) Good(name, value);
    const Result<WriteResult> first = remote.Write(key, MemorySource(AsBytes(text)), WriteRule::kReplace);
    if (!first.ok() && first.error().kind == ErrorKind::kRefused) {
      Good("writing", "read only");
      return;
    }
    if (!Tried("writing", first)) return;
    Good("writing", "works");
    if (const Result<bool> keeps = KeepsCreateIfAbsent(remote, [](const std::string&) {});
        Tried("create-if-absent", keeps)) {
      Tell(*keeps, "create-if-absent", "supported: the store refuses a second writer",
           "not supported: only one process may push there ('--single-writer')");
    }
    if (const Result<ObjectPiece> piece = remote.Read(key, 100, 200); Tried("ranges", piece)) {
      const bool right = AsText(piece->bytes) == std::string_view(text).substr(100, 200) && piece->size == text.size();
      Tell(right, "ranges", "right", "a read of a range gave other bytes");
    }
    if (const Result<ObjectPage> page = remote.List("probe/", "", 1000); Tried("listing", page)) {
      Good("listing", "works");
      const int64_t skew = page->now - static_cast<int64_t>(time(nullptr));
      const std::string seconds = std::to_string(skew) + " seconds ahead of this machine";
      Tell(std::abs(skew) <= 300, "clock", seconds, seconds);
    }
    if (const Result<> removed = remote.Remove(key); Tried("removing", removed)) Good("removing", "works");
  }

  void LookAtHistory(RemoteHistory& history) {
    const Result<uint64_t> tip = history.FindTip();
    if (!Tried("history", tip)) return;
    if (*tip == 0) return Good("history", "empty");
    const Result<std::shared_ptr<const Record>> record = history.Read(*tip);
    if (Tried("history", record)) {
      Good("history", std::to_string(*tip) + " records, newest state " + Hex((*record)->entry.state).substr(0, 12));
    }
  }

  void LookAtFolder(const std::string& folder) {
    if (access(folder.c_str(), W_OK) != 0) return Bad("folder", SystemError("write to", folder, errno).message);
    struct statvfs status;
    if (statvfs(folder.c_str(), &status) == 0) {
      Good("free space", std::to_string(uint64_t{status.f_bavail} * status.f_frsize) + " bytes");
    }
    Good("file system", IsInMemory(folder) ? "memory" : "on disk");
    if (const Result<Bytes> holder = ReadWholeFile(folder + "/.wdelta/lock", 4096); holder.ok()) {
      const Result<File> lock = LockFolder(folder + "/.wdelta/lock", folder, 0, {});
      lock.ok() ? Good("lock", "free") : Bad("lock", lock.error().message);
    }
    const std::string one = TemporaryNameBeside(folder + "/doctor"), two = one + "-2";
    const Result<File> file = File::CreateNew(one);
    if (!Tried("folder", file)) return;
    const bool links = link(one.c_str(), two.c_str()) == 0;
    unlink(two.c_str());
    Tell(links, "hard links", "work", "do not work: a push there needs '--keep-base copy'");
    const int clone = open(two.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    const bool reflinks = clone >= 0 && ioctl(clone, FICLONE, file->descriptor()) == 0;
    if (clone >= 0) close(clone);
    unlink(two.c_str());
    unlink(one.c_str());
    Good("reflinks", reflinks ? "work" : "do not work, and are not needed");
  }

 private:
  std::vector<Finding> findings_;
};

}  // namespace

Result<std::vector<Finding>> Doctor(const DoctorRequest& request, const Context& context) {
  return Guarded([&]() -> Result<std::vector<Finding>> {
    Examination examination;
    if (!request.remote.empty()) {
      WD_ASSIGN(Session session, Session::Open(request.remote, request.transfer, context));
      examination.LookAtRemote(session);
    }
    if (!request.folder.empty()) examination.LookAtFolder(request.folder);
    return examination.Take();
  });
}

}  // namespace wdelta
