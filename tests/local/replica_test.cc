// The folder that a pull keeps: what it takes for a copy, and what is left when a pull is interrupted.
#include "local/replica.h"

#include <unistd.h>

#include "local/sglang_marker.h"
#include "support/expect.h"
#include "support/random_checkpoint.h"
#include "walk/rebuild.h"

namespace wdelta {
namespace {

// A replica with checkpoints beside it. A checkpoint is told from the others by a number.
class Stand {
 public:
  Replica Open() const {
    Result<Replica> replica = Replica::Open(folder / "r", 0, {});
    REQUIRE_OK(replica);
    return std::move(*replica);
  }
  // Writes a checkpoint where a pull writes its new copy, and reads it.
  Proof Make(const Replica& replica, uint16_t content) const {
    MadeCheckpoint made;
    made.shards = {{"a.safetensors", {Ramp("w", 50, content)}, {}, 0}};
    folder.Remove("r/.wdelta/new");
    WriteCheckpoint(folder, "r/.wdelta/new", made);
    return Prove(replica.NewPath());
  }
  static Proof Prove(const std::string& path) {
    const Result<Checkpoint> checkpoint = Checkpoint::Open(path, {}, [](const std::string&) {});
    REQUIRE_OK(checkpoint);
    Result<Proof> proof = ProveCheckpoint(*checkpoint, {});
    REQUIRE_OK(proof);
    return std::move(*proof);
  }
  void Adopt(Replica& replica, uint64_t number) const {
    REQUIRE_OK(replica.Adopt(Make(replica, static_cast<uint16_t>(number)), {number, std::nullopt, 7}));
  }
  std::string Current() const { return folder.TreeOf("r").at("current"); }

  ScratchFolder folder;
};

std::vector<uint64_t> Numbers(const Replica& replica) {
  std::vector<uint64_t> numbers;
  for (const ReplicaCopy& copy : replica.copies()) numbers.push_back(copy.number);
  return numbers;
}

TEST_CASE("a copy is named after its number and its state, is current, and is found again") {
  const Stand stand;
  std::string path;
  {
    Replica replica = stand.Open();
    CHECK_FALSE(replica.current());
    const Proof proof = stand.Make(replica, 3);
    REQUIRE_OK(replica.Adopt(proof, {3, 30, 300}));
    REQUIRE(replica.current());
    CHECK(replica.current()->name == "3-" + Hex(proof.state()).substr(0, 12));
    CHECK(stand.Current() == "-> versions/" + replica.current()->name);
    CHECK(replica.hook_is_due());
    path = replica.PathOf(*replica.current());
  }
  const Replica again = stand.Open();
  REQUIRE(again.current());
  CHECK(again.PathOf(*again.current()) == path);
  CHECK(again.current()->step == 30);
  CHECK(again.current()->created == 300);
  CHECK(Stand::Prove(path).state() == again.current()->state);
}

TEST_CASE("copies that are too many go, those with the lowest numbers first, and never the current one or the base") {
  const Stand stand;
  Replica replica = stand.Open();
  for (const uint64_t number : {1, 2, 3, 4}) stand.Adopt(replica, number);
  const std::string base = replica.PathOf(replica.copies()[0]);
  CHECK(replica.Surplus(4, "").empty());
  REQUIRE_OK(replica.Remove(replica.Surplus(3, base)));
  CHECK(Numbers(replica) == std::vector<uint64_t>{1, 3, 4});
  REQUIRE_OK(replica.Remove(replica.Surplus(1, "")));
  CHECK(Numbers(replica) == std::vector<uint64_t>{4});
  CHECK(stand.folder.TreeOf("r/versions").size() == 2);  // the folder of the copy and its file
}

TEST_CASE("what lies among the copies and is not known stays, whatever its name is") {
  const Stand stand;
  stand.folder.Write("r/versions/2024-backup/model.safetensors", "mine");
  stand.folder.Write("r/versions/7-0123456789ab/x", "mine, too");
  {
    Replica replica = stand.Open();
    stand.Adopt(replica, 1);
    stand.Adopt(replica, 2);
    REQUIRE_OK(replica.Remove(replica.Surplus(1, "")));
  }
  const Replica again = stand.Open();
  CHECK(Numbers(again) == std::vector<uint64_t>{2});
  CHECK(stand.folder.Read("r/versions/2024-backup/model.safetensors") == "mine");
  CHECK(stand.folder.Read("r/versions/7-0123456789ab/x") == "mine, too");
}

TEST_CASE("a copy that is being patched is not at rest: neither a copy nor current, until it is adopted again") {
  const Stand stand;
  {
    Replica replica = stand.Open();
    stand.Adopt(replica, 1);
    const ReplicaCopy copy = *replica.current();
    REQUIRE_OK(replica.BeginPatching(copy));
    CHECK(replica.copies().empty());
  }
  Replica again = stand.Open();
  CHECK(again.copies().empty());
  CHECK_FALSE(again.current());
  REQUIRE(again.unfinished());
  CHECK(again.unfinished_is_current());
  CHECK(again.unfinished()->number == 1);
  SUBCASE("nothing was changed") {
    REQUIRE_OK(again.EndPatching());
    CHECK(Numbers(again) == std::vector<uint64_t>{1});
    CHECK(again.current());
  }
  SUBCASE("it has become another") {
    const std::string path = again.PathOf(*again.unfinished());
    MadeCheckpoint made;
    made.shards = {{"a.safetensors", {Ramp("w", 50, 9)}, {}, 0}};
    WriteCheckpoint(stand.folder, path.substr(stand.folder.path().size() + 1), made);
    REQUIRE_OK(again.Adopt(Stand::Prove(path), {2, std::nullopt, 0}));
    CHECK(Numbers(again) == std::vector<uint64_t>{2});
    CHECK_FALSE(stand.folder.Exists(path.substr(stand.folder.path().size() + 1)));
  }
  SUBCASE("another copy was made, and it is of no use any more") {
    stand.Adopt(again, 5);
    CHECK(Numbers(again) == std::vector<uint64_t>{5});
    CHECK_FALSE(again.unfinished());
    CHECK(stand.folder.TreeOf("r/versions").size() == 2);
  }
  CHECK(stand.Current().find(again.current()->name) != std::string::npos);
}

TEST_CASE("in place, `current` leads to the copy also if the pull is killed between two names") {
  const Stand stand;
  std::string old_name;
  {
    Replica replica = stand.Open();
    stand.Adopt(replica, 1);
    old_name = replica.current()->name;
    REQUIRE_OK(replica.BeginPatching(*replica.current()));
  }
  std::string state = stand.folder.Read("r/.wdelta/state.json");
  const std::string new_name = "2-aaaaaaaaaaaa", key = "\"state of " + old_name + "\":\"";
  state.insert(1, "\"state of " + new_name + "\":\"" + std::string(64, 'a') + "\",");
  stand.folder.Write("r/.wdelta/state.json", state);
  const auto link = [&](const std::string& target, const std::string& name) {
    REQUIRE(symlink(target.c_str(), (stand.folder / name).c_str()) == 0);
  };
  SUBCASE("the link with the new name was made") {
    link(old_name, "r/versions/" + new_name);
  }
  SUBCASE("current follows it") {
    link(old_name, "r/versions/" + new_name);
    stand.folder.Remove("r/current");
    link("versions/" + new_name, "r/current");
  }
  const Replica again = stand.Open();
  CHECK(stand.Current() == "-> versions/" + old_name);
  CHECK(again.unfinished_is_current());
  CHECK_FALSE(stand.folder.Exists("r/versions/" + new_name));
}

TEST_CASE("what an earlier version of wdelta was building beside the copies is removed, and so is a new copy") {
  const Stand stand;
  {
    Replica replica = stand.Open();
    stand.Adopt(replica, 1);
  }
  stand.folder.Write("r/.wdelta/building/x", "half");
  stand.folder.Write("r/.wdelta/new/x", "half");
  const Replica again = stand.Open();
  CHECK(Numbers(again) == std::vector<uint64_t>{1});
  CHECK_FALSE(stand.folder.Exists("r/.wdelta/building"));
  CHECK_FALSE(stand.folder.Exists("r/.wdelta/new"));
}

TEST_CASE("a marker is taken away before a copy is patched, and comes back only if nothing was changed") {
  const Stand stand;
  Replica replica = stand.Open();
  replica.SetMarked();
  stand.Adopt(replica, 1);
  const std::string marker = "r/versions/" + replica.current()->name + "/.weight_sync/state.json";
  CHECK(stand.folder.Read(marker) == R"({"version": "000001"})");
  REQUIRE_OK(replica.BeginPatching(*replica.current()));
  CHECK_FALSE(stand.folder.Exists(marker));
  REQUIRE_OK(replica.EndPatching());
  CHECK(stand.folder.Read(marker) == R"({"version": "000001"})");
  CHECK_FAILS(SglangMarker::Write(stand.folder / "nowhere", 1, false), ErrorKind::kNotFound, "nowhere");
}

TEST_CASE("what was seen of a store is remembered") {
  const Stand stand;
  REQUIRE_OK(stand.Open().Remember({"url", "history", 12, DigestSha256(AsBytes("x")), "mark"}));
  const SeenRecord seen = stand.Open().seen();
  CHECK(seen.url == "url");
  CHECK(seen.history == "history");
  CHECK(seen.number == 12);
  CHECK(seen.record == DigestSha256(AsBytes("x")));
  CHECK(seen.mark == "mark");
}

TEST_CASE("a folder whose `current` is not a link is refused") {
  const Stand stand;
  stand.folder.Write("r/current/mine", "x");
  CHECK_FAILS(Replica::Open(stand.folder / "r", 0, {}), ErrorKind::kRefused, "current");
}

}  // namespace
}  // namespace wdelta
