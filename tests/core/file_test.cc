#include "core/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "support/expect.h"
#include "support/scratch_folder.h"

namespace wdelta {
namespace {

TEST_CASE("a system error has the kind that its number means, and names what failed") {
  CHECK(SystemError("open", "x", ENOENT).kind == ErrorKind::kNotFound);
  CHECK(SystemError("open", "x", ENOTDIR).kind == ErrorKind::kNotFound);
  CHECK(SystemError("open", "x", EACCES).kind == ErrorKind::kDenied);
  CHECK(SystemError("open", "x", EIO).kind == ErrorKind::kLocalIo);
  const Error full = SystemError("write", "some file", ENOSPC);
  CHECK(full.kind == ErrorKind::kLocalIo);
  CHECK(full.message == "cannot write 'some file': No space left on device");
  CHECK(full.path == "some file");
  CHECK_FALSE(full.hint.empty());
}

TEST_CASE("what is written at a place is read there again") {
  const ScratchFolder folder;
  const auto file = File::CreateNew(folder / "x");
  REQUIRE_OK(file);
  REQUIRE_OK(file->WriteAt(3, AsBytes("def")));
  REQUIRE_OK(file->WriteAt(0, AsBytes("abc")));
  Bytes read(4);
  REQUIRE_OK(file->ReadAt(1, read));
  CHECK(AsText(read) == "bcde");
  REQUIRE_OK(file->Resize(8));
  CHECK(folder.Read("x") == std::string("abcdef\0\0", 8));
  CHECK(file->Identify()->size == 8);
}

TEST_CASE("a read beyond the end says where the file ends") {
  const ScratchFolder folder;
  folder.Write("x", "abc");
  const auto file = File::OpenForRead(folder / "x");
  REQUIRE_OK(file);
  Bytes read(4);
  CHECK_FAILS(file->ReadAt(0, read), ErrorKind::kIntegrity, "ends at byte 3");
}

TEST_CASE("only regular files are opened, and a pipe without a writer does not block") {
  const ScratchFolder folder;
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const auto begin = std::chrono::steady_clock::now();
  CHECK_FAILS(File::OpenForRead(folder / "pipe"), ErrorKind::kRefused, "not a regular file");
  CHECK_FAILS(File::OpenForUpdate(folder / "pipe"), ErrorKind::kRefused, "not a regular file");
  CHECK_FAILS(ReadWholeFile(folder / "pipe", 10), ErrorKind::kRefused, "not a regular file");
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
  CHECK_FAILS(File::OpenForRead(folder.path()), ErrorKind::kRefused, "not a regular file");
  CHECK_FAILS(File::OpenForRead("/dev/zero"), ErrorKind::kRefused, "not a regular file");
  CHECK_FAILS(File::OpenForRead(folder / "nothing"), ErrorKind::kNotFound, "No such file");
}

TEST_CASE("a file to patch is never reached through a link, and a new file never takes a name that exists") {
  const ScratchFolder folder;
  folder.Write("x", "abc");
  REQUIRE(symlink("x", (folder / "link").c_str()) == 0);
  REQUIRE_OK(File::OpenForRead(folder / "link"));
  CHECK_FAILS(File::OpenForUpdate(folder / "link"), ErrorKind::kRefused, "link");
  CHECK_FAILS(File::CreateNew(folder / "x"), ErrorKind::kLocalIo, "exists");
  REQUIRE(symlink("elsewhere", (folder / "dangling").c_str()) == 0);
  CHECK_FAILS(File::CreateNew(folder / "dangling"), ErrorKind::kLocalIo, "exists");
  CHECK_FALSE(folder.Exists("elsewhere"));
}

TEST_CASE("a lock is held by one opening at a time, and goes with it") {
  const ScratchFolder folder;
  folder.Write("lock", "");
  const auto second = File::OpenForUpdate(folder / "lock");
  REQUIRE_OK(second);
  {
    const auto first = File::OpenForUpdate(folder / "lock");
    REQUIRE_OK(first);
    CHECK(*first->TryLock());
    CHECK_FALSE(*second->TryLock());
  }
  CHECK(*second->TryLock());
}

TEST_CASE("a sink gives the file its name in Commit, and leaves nothing behind without it") {
  const ScratchFolder folder;
  {
    const auto sink = OpenSink(folder / "out");
    REQUIRE_OK(sink);
    REQUIRE_OK((*sink)->Write(AsBytes("some")));
    CHECK_FALSE(folder.Exists("out"));
  }
  CHECK(folder.TreeOf().empty());
  folder.Write("out", "old");
  const auto sink = OpenSink(folder / "out");
  REQUIRE_OK(sink);
  REQUIRE_OK((*sink)->Write(AsBytes("ne")));
  REQUIRE_OK((*sink)->Write(AsBytes("w")));
  CHECK((*sink)->written() == 3);
  CHECK(folder.Read("out") == "old");
  REQUIRE_OK((*sink)->Commit());
  CHECK(folder.TreeOf() == Tree{{"out", "new"}});
}

TEST_CASE("a sink into a folder that is not there, or onto a folder, fails at once") {
  const ScratchFolder folder;
  CHECK_FAILS(OpenSink(folder / "nowhere/out"), ErrorKind::kNotFound, "nowhere");
  CHECK_FALSE(OpenSink(folder.path()).ok());
  CHECK(folder.TreeOf().empty());
}

TEST_CASE("a whole file is read up to its limit and not beyond") {
  const ScratchFolder folder;
  folder.Write("x", "abc");
  CHECK(AsText(*ReadWholeFile(folder / "x", 3)) == "abc");
  CHECK_FAILS(ReadWholeFile(folder / "x", 2), ErrorKind::kIntegrity, "larger than 2 bytes");
}

TEST_CASE("an unnamed file can be written and read, and nobody else sees it") {
  const auto file = File::CreateUnnamed({});
  REQUIRE_OK(file);
  REQUIRE_OK(file->WriteAt(0, AsBytes("abc")));
  Bytes read(3);
  REQUIRE_OK(file->ReadAt(0, read));
  CHECK(AsText(read) == "abc");
}

TEST_CASE("the identity of a file changes with its size, its time and its place") {
  const ScratchFolder folder;
  folder.Write("x", "abc");
  const auto identify = [&] { return *File::OpenForRead(folder / "x")->Identify(); };
  const FileIdentity first = identify();
  CHECK(first == identify());
  REQUIRE_OK(File::OpenForUpdate(folder / "x")->WriteAt(0, AsBytes("x")));
  CHECK(first != identify());
  folder.Write("x", "abcd");
  CHECK(first != identify());
  folder.Write("y", "abc");
  REQUIRE_OK(Rename(folder / "y", folder / "x", false));
  CHECK(first != identify());
}

TEST_CASE("parent and last component of a path are what the shell says") {
  const std::string paths[][3] = {
      {"a/b", "a", "b"}, {"a/b/", "a", "b"}, {"a", ".", "a"}, {"/a", "/", "a"}, {"/a/b//", "/a", "b"}};
  for (const auto& [path, parent, last] : paths) {
    CHECK(ParentFolder(path) == parent);
    CHECK(LastComponent(path) == last);
  }
}

TEST_CASE("a temporary name is hidden, beside its file, and another one each time") {
  const std::string first = TemporaryNameBeside("a/b/");
  CHECK(first.starts_with("a/.b.wdelta-"));
  CHECK(first != TemporaryNameBeside("a/b/"));
}

}  // namespace
}  // namespace wdelta
