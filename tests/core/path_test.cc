#include "core/path.h"

#include <unistd.h>

#include <map>

#include "support/expect.h"
#include "support/scratch_folder.h"

namespace wdelta {
namespace {

std::string NamesOf(const Result<std::vector<FolderEntry>>& entries) {
  REQUIRE_OK(entries);
  std::string text;
  for (const auto& [name, kind] : *entries) {
    const std::map<EntryKind, const char*> marks = {
        {EntryKind::kFile, ""}, {EntryKind::kFolder, "/"}, {EntryKind::kLink, "@"}, {EntryKind::kOther, "?"}};
    text += (text.empty() ? "" : " ") + name + marks.at(kind);
  }
  return text;
}

TEST_CASE("a folder is listed by name, with what each entry is, odd bytes and all") {
  const ScratchFolder folder;
  folder.Write("m/b", "1");
  folder.Write("m/\xff\n \x01", "1");
  folder.Write("m/.hidden/x", "1");
  REQUIRE(symlink("nowhere", (folder / "m/link").c_str()) == 0);
  CHECK(NamesOf(ListFolder(folder / "m")) == ".hidden/ b link@ \xff\n \x01");
  CHECK_FAILS(ListFolder(folder / "none"), ErrorKind::kNotFound, "cannot read");
  CHECK_FAILS(ListFolder(folder / "m/b"), ErrorKind::kNotFound, "Not a directory");
}

TEST_CASE("a walk enters the folders that it is told to, and no link") {
  const ScratchFolder folder;
  for (const char* name : {"a", "in/b", "in/deep/c", "out/d"}) folder.Write(name, "1");
  REQUIRE(symlink("..", (folder / "in/up").c_str()) == 0);
  std::map<std::string, EntryKind> seen;
  REQUIRE_OK(WalkTree(folder.path(), [&](const std::string& path, EntryKind kind) -> Result<bool> {
    CHECK(seen.emplace(path, kind).second);
    return path != "out";
  }));
  CHECK(seen == std::map<std::string, EntryKind>{{"a", EntryKind::kFile},
                                                 {"in", EntryKind::kFolder},
                                                 {"in/b", EntryKind::kFile},
                                                 {"in/deep", EntryKind::kFolder},
                                                 {"in/deep/c", EntryKind::kFile},
                                                 {"in/up", EntryKind::kLink},
                                                 {"out", EntryKind::kFolder}});
  const auto stop = [](const std::string&, EntryKind) -> Result<bool> { return Error{ErrorKind::kUsage, "enough"}; };
  CHECK_FAILS(WalkTree(folder.path(), stop), ErrorKind::kUsage, "enough");
}

TEST_CASE("what cannot be looked at is not there, and opening it says why") {
  const ScratchFolder folder;
  REQUIRE(symlink("loop", (folder / "loop").c_str()) == 0);
  const std::string too_long = folder / std::string(300, 'x');
  for (const std::string& path : {folder / "loop", folder / "loop/below", too_long, folder / "none"}) {
    CAPTURE(path);
    CHECK_FALSE(PathExists(path));
    CHECK_FALSE(IsFolder(path));
    CHECK_FALSE(IsEmptyFolder(path));
    CHECK_FALSE(IsRegularFile(path));
    CHECK_FALSE(SizeOfFile(path).has_value());
    CHECK_FALSE(IsSameFile(path, path));
  }
  CHECK(IsLink(folder / "loop"));
  CHECK(LinkTarget(folder / "loop") == "loop");
  CHECK_FALSE(LinkTarget(folder.path()).has_value());
  CHECK_FAILS(RealPath(folder / "loop"), ErrorKind::kRefused, "Too many levels of symbolic links");
  CHECK(RealPath(folder / "loop").error().hint.find("leads back to itself") != std::string::npos);
  CHECK_FAILS(CreateFolders(folder / "loop/x"), ErrorKind::kRefused, "loop/x");
  CHECK_FAILS(CreateFolders(too_long), ErrorKind::kRefused, "File name too long");
  CHECK_FAILS(ListFolder(too_long), ErrorKind::kRefused, "File name too long");
  CHECK_FAILS(ListFolder(std::string(5000, '/') + "x"), ErrorKind::kRefused, "File name too long");
}

TEST_CASE("folders are made with those on the way, and files get a second name or a copy") {
  const ScratchFolder folder;
  REQUIRE_OK(CreateFolders(folder / "a/b/c"));
  REQUIRE_OK(CreateFolders(folder / "a/b/c"));
  CHECK(IsEmptyFolder(folder / "a/b/c"));
  CHECK_FALSE(IsEmptyFolder(folder / "a"));
  folder.Write("file", "12345");
  CHECK_FAILS(CreateFolders(folder / "file/x"), ErrorKind::kNotFound, "Not a directory");
  REQUIRE_OK(LinkFile(folder / "file", folder / "a/linked"));
  REQUIRE_OK(CopyFile(folder / "file", folder / "a/copied"));
  CHECK(IsSameFile(folder / "file", folder / "a/linked"));
  CHECK_FALSE(IsSameFile(folder / "file", folder / "a/copied"));
  CHECK(SizeOfFile(folder / "a/copied") == 5);
  CHECK_FALSE(SizeOfFile(folder / "a").has_value());
  CHECK_FAILS(LinkFile(folder / "file", folder / "a/linked"), ErrorKind::kLocalIo, "cannot link");
  CHECK_FAILS(CopyFile(folder / "none", folder / "a/none"), ErrorKind::kNotFound, "cannot copy");
}

TEST_CASE("a path from the root has no dots and no links") {
  const ScratchFolder folder;
  folder.Write("real/x", "1");
  REQUIRE(symlink("real", (folder / "link").c_str()) == 0);
  CHECK(*AbsolutePath("/a/./b/../c") == "/a/c");
  CHECK(AbsolutePath("x")->starts_with('/'));
  CHECK(*RealPath(folder / "link/../link/x") == *RealPath(folder / "real/x"));
  CHECK_FAILS(AbsolutePath(""), ErrorKind::kLocalIo, "Invalid argument");
}

}  // namespace
}  // namespace wdelta
