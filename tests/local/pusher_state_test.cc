#include "local/pusher_state.h"

#include <sys/stat.h>

#include "core/file_counts.h"
#include "support/expect.h"
#include "support/made_history.h"
#include "support/scratch_folder.h"

namespace wdelta {

namespace {

PusherState Open(const ScratchFolder& folder) {
  Result<PusherState> home = PusherState::Open(folder / "ckpt", "memory://", "", 0, {});
  REQUIRE_OK(home);
  return std::move(*home);
}

std::vector<KeptFile> Files(const ScratchFolder& folder) {
  return {{folder / "ckpt/x", "x"}, {folder / "ckpt/sub/y", "sub/y"}};
}

ino_t InodeOf(const std::string& path) {
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  return status.st_ino;
}

}  // namespace

TEST_CASE("a spool is remembered with all that its record needs, and only while its pack is there") {
  const ScratchFolder folder;
  SpooledPush spool{"writer", 95, "best", MadeDigest("base", 1), MadeDigest("state", 2), 7};
  {
    const PusherState home = Open(folder);
    REQUIRE_OK(home.WriteSpool(spool));
    CHECK_FALSE(home.ReadSpool()->has_value());
    REQUIRE_OK(File::CreateNew(home.spool_path()));
  }
  const PusherState home = Open(folder);
  const auto read = home.ReadSpool();
  REQUIRE_OK(read);
  REQUIRE(read->has_value());
  CHECK((*read)->writer == "writer");
  CHECK((*read)->step == 95);
  CHECK((*read)->tag == "best");
  CHECK((*read)->base_state == spool.base_state);
  CHECK((*read)->state == spool.state);
  CHECK((*read)->number == 7);
  home.DropSpool();
  CHECK_FALSE(home.ReadSpool()->has_value());
}

TEST_CASE("a base is kept by links that cost nothing, or as a copy that others may overwrite") {
  const ScratchFolder folder;
  folder.Write("ckpt/x", "one");
  folder.Write("ckpt/sub/y", "two");
  PusherState home = Open(folder);
  CHECK_FALSE(home.HasKeptBase());
  {
    const FileCounts counts;
    REQUIRE_OK(home.ReplaceBase(Files(folder), KeepBase::kLink, MadeDigest("state", 1)));
    CHECK(counts.Of("ckpt").read == 0);
  }
  CHECK(home.HasKeptBase());
  CHECK(InodeOf(home.base_path() + "/x") == InodeOf(folder / "ckpt/x"));
  const std::string linked = home.base_path();
  REQUIRE_OK(home.ReplaceBase(Files(folder), KeepBase::kCopy, MadeDigest("state", 2)));
  CHECK(InodeOf(home.base_path() + "/sub/y") != InodeOf(folder / "ckpt/sub/y"));
  CHECK(AsText(*ReadWholeFile(home.base_path() + "/sub/y", 100)) == "two");
  CHECK(home.base_state() == MadeDigest("state", 2));
  struct stat status {};
  CHECK(stat(linked.c_str(), &status) != 0);  // the one before is gone
}

TEST_CASE("a base that cannot be kept leaves the one before") {
  const ScratchFolder folder;
  folder.Write("ckpt/x", "one");
  folder.Write("ckpt/sub/y", "two");
  PusherState home = Open(folder);
  REQUIRE_OK(home.ReplaceBase(Files(folder), KeepBase::kLink, MadeDigest("state", 1)));
  CHECK_FAILS(home.ReplaceBase({{folder / "ckpt/z", "z"}}, KeepBase::kCopy, MadeDigest("state", 2)),
              ErrorKind::kNotFound, "ckpt/z");
  CHECK(home.HasKeptBase());
  CHECK(home.base_state() == MadeDigest("state", 1));
  CHECK_FALSE(home.HasPreparedBase());
}

TEST_CASE("the state files of earlier pushes are read") {
  const ScratchFolder folder;
  const std::string state = Hex(MadeDigest("state", 1));
  std::string home_path;
  { home_path = Open(folder).folder(); }
  const std::string below = home_path.substr(folder.path().size() + 1);
  folder.Write(below + "/state.json", R"({"remote":"memory://","base_state":")" + state +
                                          R"(","create_if_absent":"yes","published":"run7/weight_v000003"})");
  folder.Write(below + "/spool.json", R"({"writer":"w","base_state":")" + state + R"(","state":")" + state + "\"}");
  folder.Write(below + "/spool.wdp", "");
  const PusherState home = Open(folder);
  CHECK(Hex(home.base_state()) == state);
  CHECK(home.store_was_checked());
  CHECK(home.published() == "run7/weight_v000003");
  const auto spool = home.ReadSpool();
  REQUIRE_OK(spool);
  REQUIRE(spool->has_value());
  CHECK((*spool)->number == 0);
  CHECK_FALSE((*spool)->step.has_value());
}

TEST_CASE("only one push at a time uses the folder") {
  const ScratchFolder folder;
  const PusherState home = Open(folder);
  CHECK_FAILS(PusherState::Open(folder / "ckpt", "memory://", "", 0, {}), ErrorKind::kBusy, "");
  REQUIRE_OK(PusherState::Open(folder / "ckpt", "memory://other", "", 0, {}));
}

}  // namespace wdelta
