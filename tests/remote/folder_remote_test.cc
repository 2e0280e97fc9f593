#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <ctime>
#include <thread>

#include "core/parallel.h"
#include "remote/contract.h"
#include "remote/stores.h"
#include "support/expect.h"
#include "support/faulty_remote.h"
#include "support/scratch_folder.h"

namespace wdelta {
namespace {

std::unique_ptr<Remote> Open(const std::string& path, const StopToken& stop = {}) {
  auto remote = OpenFolderRemote("file://" + path, stop);
  REQUIRE_OK(remote);
  return std::move(*remote);
}

Result<WriteResult> Put(Remote& remote, const std::string& key, std::string_view text,
                        WriteRule rule = WriteRule::kReplace) {
  return remote.Write(key, MemorySource(AsBytes(text)), rule);
}

Result<WriteResult> Replace(Remote& remote, const std::string& key, std::string_view text, const std::string& etag) {
  return remote.Write(key, MemorySource(AsBytes(text)), WriteRule::kIfEtag, etag);
}

std::string EtagOf(Remote& remote, const std::string& key) {
  const auto piece = remote.Read(key, 0, 0);
  return piece.ok() ? piece->etag : "none";
}

// What conditional replacement leaves in .tmp.
const Tree kOnlyTheLock{{"replace.lock", ""}};

bool LockIsFree(const ScratchFolder& folder) {
  const int file = open((folder / ".tmp/replace.lock").c_str(), O_RDWR | O_CLOEXEC);
  const bool locked = flock(file, LOCK_EX | LOCK_NB) == 0;
  close(file);
  return locked;
}

// Makes a system call fail with `errno_value` for the calling thread, from now on.
bool ForbidCall(unsigned number, unsigned errno_value) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | errno_value),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof code / sizeof code[0], code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST_CASE("a folder keeps the contract of a remote") {
  const ScratchFolder folder;
  CheckContract([&] { return Open(folder / "not/yet/there"); }, {.large = true});
  CHECK(Names(folder.TreeOf("not/yet/there/.tmp")) == Names(kOnlyTheLock));
}

TEST_CASE("a folder behind faults keeps the contract when retries are around them") {
  const ScratchFolder folder;
  uint64_t seed = 0;
  CheckContract([&] { return BehindFaults(Open(folder.path()), ++seed); }, {.listed = 300});
}

TEST_CASE("what comes damaged out of a folder is found where it is used") {
  const ScratchFolder folder;
  const auto open = [&] { return Open(folder.path()); };
  CheckDamageIsFound(open, open);
}

TEST_CASE("a file URL names an absolute path, percent-decoded") {
  const auto path = [](const std::string& url) {
    const auto result = PathOfFileUrl(url);
    return result.ok() ? *result : "refused";
  };
  CHECK(path("file:///a/b") == "/a/b");
  CHECK(path("file:///a/b///") == "/a/b");
  CHECK(path("file://localhost/a") == "/a");
  CHECK(path("file:///a%20b%2Fc%2fd%C3%a4") == "/a b/c/d\xc3\xa4");
  CHECK(path("file:///a b?c#d") == "/a b?c#d");
  for (const char* url : {"file://", "file:///", "file://host/a", "file://a/b", "file://./a", "file://a", "file:/a",
                          "/a", "file:///a%", "file:///a%2", "file:///a%zz", "file:///a%-1", "file:///a%00b"}) {
    INFO(url);
    CHECK_FAILS(PathOfFileUrl(url), ErrorKind::kUsage, url);
  }
  CHECK_FAILS(OpenFolderRemote("file://host/a", {}), ErrorKind::kUsage, "host");
}

TEST_CASE("a folder that is not there has no objects until the first write creates it") {
  const ScratchFolder folder;
  const auto remote = Open(folder / "a/b");
  CHECK_FAILS(remote->Read("k", 0, 1), ErrorKind::kNotFound, "no object 'k'");
  const auto info = remote->Stat("k");
  REQUIRE_OK(info);
  CHECK_FALSE(info->has_value());
  const auto page = remote->List("", "", 10);
  REQUIRE_OK(page);
  CHECK(page->objects.empty());
  REQUIRE_OK(remote->Remove("k"));
  CHECK_FALSE(folder.Exists("a"));
  REQUIRE_OK(Put(*remote, "k", "x"));
  CHECK(folder.Read("a/b/k") == "x");
}

TEST_CASE("objects are files whose path is their key") {
  const ScratchFolder folder;
  const auto remote = Open(folder.path());
  REQUIRE_OK(Put(*remote, "p/q/r", "content"));
  CHECK(folder.Read("p/q/r") == "content");
  folder.Write("s/t", "from elsewhere");
  const auto piece = remote->Read("s/t", 5, 100);
  REQUIRE_OK(piece);
  CHECK(AsText(piece->bytes) == "elsewhere");
}

TEST_CASE("names that no key can have are not listed") {
  const ScratchFolder folder;
  for (const char* name : {"k", ".hidden", ".tmp/x", "a:b", "a b", "sub/.x", "sub/ok", ".git/config"})
    folder.Write(name, "x");
  REQUIRE(symlink("k", (folder / "link").c_str()) == 0);
  REQUIRE(symlink("sub", (folder / "link-to-folder").c_str()) == 0);
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const auto page = Open(folder.path())->List("", "", 1000);
  REQUIRE_OK(page);
  REQUIRE(page->objects.size() == 2);
  CHECK(page->objects[0].key == "k");
  CHECK(page->objects[1].key == "sub/ok");
}

TEST_CASE("no link inside the folder leads out of it, and what is no file is refused") {
  const ScratchFolder folder;
  folder.Write("outside/secret", "secret");
  folder.Write("root/k", "x");
  REQUIRE(symlink("../outside", (folder / "root/out").c_str()) == 0);
  REQUIRE(symlink("../outside/secret", (folder / "root/leak").c_str()) == 0);
  REQUIRE(mkfifo((folder / "root/pipe").c_str(), 0600) == 0);
  const auto remote = Open(folder / "root");
  CHECK_FAILS(remote->Read("out/secret", 0, 10), ErrorKind::kRefused, "symbolic link");
  CHECK_FAILS(remote->Stat("out/secret"), ErrorKind::kRefused, "symbolic link");
  CHECK_FAILS(remote->Remove("out/secret"), ErrorKind::kRefused, "symbolic link");
  CHECK_FAILS(Put(*remote, "out/new", "x"), ErrorKind::kRefused, "symbolic link");
  CHECK_FAILS(remote->Read("leak", 0, 10), ErrorKind::kRefused, "symbolic link");
  CHECK_FAILS(remote->Stat("leak"), ErrorKind::kRefused, "not a regular file");
  CHECK_FAILS(remote->Read("pipe", 0, 10), ErrorKind::kRefused, "not a regular file");
  CHECK(folder.TreeOf("outside").size() == 1);

  // The folder itself may be reached through a link, and its temporary files may not.
  REQUIRE(symlink("root", (folder / "way").c_str()) == 0);
  const auto through = Open(folder / "way");
  REQUIRE_OK(through->Read("k", 0, 1));
  REQUIRE(symlink("../outside", (folder / "root/.tmp").c_str()) == 0);
  CHECK_FAILS(Put(*through, "n", "x"), ErrorKind::kRefused, "symbolic link");
  CHECK(folder.TreeOf("outside").size() == 1);
}

TEST_CASE("an object where a folder is needed, or the other way round, is refused") {
  const ScratchFolder folder;
  const auto remote = Open(folder.path());
  REQUIRE_OK(Put(*remote, "a", "x"));
  REQUIRE_OK(Put(*remote, "b/c", "x"));
  CHECK_FAILS(Put(*remote, "a/b", "x"), ErrorKind::kRefused, "a file is where a folder should be");
  CHECK_FAILS(Put(*remote, "b", "x", WriteRule::kReplace), ErrorKind::kRefused, "a folder");
  CHECK_FAILS(Put(*remote, "b", "x", WriteRule::kIfAbsent), ErrorKind::kRefused, "a folder");
  REQUIRE_OK(remote->Remove("b"));
  CHECK(folder.Read("b/c") == "x");
  CHECK(folder.TreeOf(".tmp").empty());
}

TEST_CASE("what a crash left behind is removed a day later, and nothing younger") {
  const ScratchFolder folder;
  folder.Write(".tmp/old", "x");
  folder.Write(".tmp/young", "x");
  folder.Write(".tmp/replace.lock", "");  // others may be waiting for it
  const timespec times[] = {{time(nullptr) - 23 * 3600, 0}, {time(nullptr) - 23 * 3600, 0}};
  REQUIRE(utimensat(AT_FDCWD, (folder / ".tmp/young").c_str(), times, 0) == 0);
  REQUIRE_OK(Put(*Open(folder.path()), "k", "x"));
  CHECK(Names(folder.TreeOf(".tmp")) == Names({{"replace.lock", ""}, {"young", "x"}}));
}

TEST_CASE("a source that fails leaves nothing behind") {
  class Failing final : public ByteSource {
   public:
    uint64_t size() const override { return 3 << 20; }
    Result<> ReadAt(uint64_t offset, MutableByteSpan out) const override {
      if (offset > 0) return Error{ErrorKind::kConflict, "the source changed"};
      std::fill(out.begin(), out.end(), uint8_t{1});
      return {};
    }
  };
  const ScratchFolder folder;
  const auto remote = Open(folder.path());
  CHECK_FAILS(remote->Write("k", Failing(), WriteRule::kReplace), ErrorKind::kConflict, "the source changed");
  CHECK_FALSE(folder.Exists("k"));
  CHECK(folder.TreeOf(".tmp").empty());
}

TEST_CASE("where the file system has no links, a rename that replaces nothing does the same") {
  const ScratchFolder folder;
  std::string first, second, third;
  std::thread([&] {
    const auto remote = Open(folder.path());
    if (!ForbidCall(__NR_linkat, EPERM)) return;
    const auto outcome = [](const Result<WriteResult>& result) {
      return !result.ok() ? result.error().message : *result == WriteResult::kWritten ? "written" : "exists";
    };
    first = outcome(Put(*remote, "k", "one", WriteRule::kIfAbsent));
    second = outcome(Put(*remote, "k", "two", WriteRule::kIfAbsent));
    if (!ForbidCall(__NR_renameat2, EINVAL)) return;
    third = outcome(Put(*remote, "n", "three", WriteRule::kIfAbsent));
  }).join();
  CHECK(first == "written");
  CHECK(second == "exists");
  CHECK(third ==
        "the file system of '" + folder.path() + "' cannot create a file only if it is absent (link, renameat2)");
  CHECK(folder.Read("k") == "one");
  CHECK_FALSE(folder.Exists("n"));
  CHECK(folder.TreeOf(".tmp").empty());
}

TEST_CASE("processes that count in one object, each by replacing what it has read, lose no count") {
  constexpr int kProcesses = 4, kEach = 50;
  const ScratchFolder folder;
  REQUIRE_OK(Put(*Open(folder.path()), "count", "0"));
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const auto remote = Open(folder.path());
      for (int counted = 0; counted < kEach;) {
        const auto piece = remote->Read("count", 0, 20);
        if (!piece.ok()) _exit(1);
        const std::string next = std::to_string(std::atoi(std::string(AsText(piece->bytes)).c_str()) + 1);
        const auto result = Replace(*remote, "count", next, piece->etag);
        if (!result.ok()) _exit(1);
        counted += *result == WriteResult::kWritten;
      }
      _exit(0);
    }
    REQUIRE(child > 0);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  CHECK(folder.Read("count") == std::to_string(kProcesses * kEach));
  CHECK(Names(folder.TreeOf(".tmp")) == Names(kOnlyTheLock));
}

TEST_CASE("a replacement on condition of an etag is younger than what it replaces, whatever the clock says") {
  const ScratchFolder folder;
  const auto remote = Open(folder.path());
  REQUIRE_OK(Put(*remote, "k", "one"));
  const timespec ahead[] = {{0, UTIME_OMIT}, {time(nullptr) + 3600, 999'999'999}};
  REQUIRE(utimensat(AT_FDCWD, (folder / "k").c_str(), ahead, 0) == 0);
  REQUIRE_OK(Replace(*remote, "k", "two", EtagOf(*remote, "k")));
  struct stat status;
  REQUIRE(stat((folder / "k").c_str(), &status) == 0);
  CHECK(status.st_mtim.tv_sec == ahead[1].tv_sec + 1);
  CHECK(folder.Read("k") == "two");
}

TEST_CASE(
    "a replacement on condition of an etag that is not there creates nothing, and replaces no folder and no link") {
  const ScratchFolder folder;
  const auto remote = Open(folder / "root");
  const auto outcome = [&](const std::string& key) {
    const auto result = Replace(*remote, key, "x", "1-2-3");
    return result.ok() && *result == WriteResult::kChanged ? "changed" : "not so";
  };
  CHECK(outcome("a/b") == "changed");
  CHECK_FALSE(folder.Exists("root"));
  folder.Write("root/a/b", "x");
  REQUIRE(symlink("a/b", (folder / "root/link").c_str()) == 0);
  const Tree before = folder.TreeOf("root");
  for (const char* key : {"a", "a/b", "a/b/c", "link"}) CHECK(outcome(key) == "changed");
  CHECK(folder.TreeOf("root") == before);
}

TEST_CASE("a replacement on condition of an etag that fails gives the lock back and leaves the object as it was") {
  const ScratchFolder folder;
  REQUIRE_OK(Put(*Open(folder.path()), "k", "one"));
  ErrorKind renamed = ErrorKind::kUsage, locked = ErrorKind::kUsage;
  std::thread([&] {
    const auto remote = Open(folder.path());
    const std::string etag = EtagOf(*remote, "k");
    if (ForbidCall(__NR_renameat, EIO)) renamed = Replace(*remote, "k", "two", etag).error().kind;
    if (ForbidCall(__NR_flock, ENOLCK)) locked = Replace(*remote, "k", "two", etag).error().kind;
  }).join();
  CHECK(renamed == ErrorKind::kLocalIo);
  CHECK(locked == ErrorKind::kLocalIo);
  CHECK(folder.Read("k") == "one");
  CHECK(Names(folder.TreeOf(".tmp")) == Names(kOnlyTheLock));
  CHECK(LockIsFree(folder));
}

TEST_CASE("a stop ends the wait for the lock of a replacement") {
  // The stop comes when the object was found the same and its new bytes are on their way.
  class Stopping final : public ByteSource {
   public:
    uint64_t size() const override { return 1; }
    Result<> ReadAt(uint64_t, MutableByteSpan out) const override {
      source.Request();
      out[0] = 'x';
      return {};
    }
    StopSource source;
  };
  const ScratchFolder folder;
  const Stopping stopping;
  const auto remote = Open(folder.path(), stopping.source.token());
  REQUIRE_OK(Put(*remote, "k", "one"));
  REQUIRE_OK(Replace(*remote, "k", "two", EtagOf(*remote, "k")));
  const int lock = open((folder / ".tmp/replace.lock").c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(flock(lock, LOCK_EX | LOCK_NB) == 0);
  CHECK_FAILS(remote->Write("k", stopping, WriteRule::kIfEtag, EtagOf(*remote, "k")), ErrorKind::kInterrupted, "");
  close(lock);
  CHECK(folder.Read("k") == "two");
  CHECK(Names(folder.TreeOf(".tmp")) == Names(kOnlyTheLock));
}

TEST_CASE("a file server that is away for a moment is passing trouble, a full disk is not") {
  const ScratchFolder folder;
  REQUIRE_OK(Put(*Open(folder.path()), "k", "one"));
  ErrorKind read = ErrorKind::kUsage, written = ErrorKind::kUsage;
  std::thread([&] {
    const auto remote = Open(folder.path());
    if (ForbidCall(__NR_pread64, ESTALE)) read = remote->Read("k", 0, 1).error().kind;
    if (ForbidCall(__NR_pwrite64, ENOSPC)) written = Put(*remote, "n", "two").error().kind;
  }).join();
  CHECK(read == ErrorKind::kTransient);
  CHECK(written == ErrorKind::kLocalIo);
  CHECK(folder.TreeOf(".tmp").empty());
}

TEST_CASE("without permission nothing is read or written") {
  const ScratchFolder folder;
  ErrorKind read = ErrorKind::kUsage, written = ErrorKind::kUsage;
  REQUIRE_OK(Put(*Open(folder.path()), "k", "one"));
  std::thread([&] {
    const auto remote = Open(folder.path());
    if (!ForbidCall(__NR_openat, EACCES)) return;
    read = remote->Read("k", 0, 1).error().kind;
    written = Put(*remote, "n", "two").error().kind;
  }).join();
  CHECK(read == ErrorKind::kDenied);
  CHECK(written == ErrorKind::kDenied);
}

}  // namespace
}  // namespace wdelta
