// Following a history in a store in memory: what is fetched, read and written, and what happens when something is
// wrong.
#include "sync/follower.h"

#include "core/file_counts.h"
#include "support/expect.h"
#include "support/stored_run.h"
#include "walk/in_place.h"

namespace wdelta {
namespace {

class Stand {
 public:
  // Follows once; nothing of the follower stays.
  Result<FollowReport> Follow(FollowOptions options = {}, const std::string& revision = "") {
    notes.clear();
    Context context{.threads = 2};
    context.note = [this](const std::string& note) { notes += note + "\n"; };
    if (!revision.empty()) {
      options.wish.named = true;
      options.wish.revision = *ParseRevision(revision);
    }
    WD_ASSIGN(Replica replica, Replica::Open(run.folder() / "r", 0, {}));
    RemoteHistory history(run.remote());
    const auto lineage = HistoryAsLineage(history, replica.PacksPath(), 1, context);
    return FollowLineage(*lineage, replica, options, context);
  }
  void MustFollow(const FollowOptions& options = {}, const std::string& revision = "") {
    REQUIRE_OK(Follow(options, revision));
  }
  // The current copy has exactly the files of that step.
  void ExpectStep(uint16_t step) const {
    const Tree found = run.folder().TreeOf("r/current");
    const Tree wanted = run.TreeOfStep(step);
    CHECK_MESSAGE(found == wanted, Names(found));
  }
  std::vector<std::string> Copies() const {
    std::vector<std::string> names;
    for (const auto& [name, content] : run.folder().TreeOf("r/versions")) {
      if (name.ends_with('/') && name.find('/') + 1 == name.size()) names.push_back(name.substr(0, name.find('-')));
    }
    return names;
  }
  // The path of a copy's shard, relative to the folder.
  std::string ShardOf(uint64_t number) const {
    return "r/versions/" + std::to_string(number) + "-" + Hex(run.entry(number).state).substr(0, 12) +
           "/m-1.safetensors";
  }
  void Truncate(const std::string& path) {
    const std::string content = run.folder().Read(path);
    run.folder().Write(path, content.substr(0, content.size() - 100));
  }
  void Flip(const std::string& path) {
    std::string content = run.folder().Read(path);
    content[content.size() - 100] ^= 1;
    run.folder().Write(path, content);
  }

  StoredRun run;
  std::string notes;
};

const FollowOptions kInPlace = {.build = {.in_place = true}};

TEST_CASE("in the steady state a pull reads the model once, writes it once, and keeps no pack") {
  Stand stand;
  for (const uint16_t step : std::vector<uint16_t>{1, 2, 3}) {
    stand.run.Push(step);
    stand.MustFollow();
  }
  CHECK(stand.Copies() == std::vector<std::string>{"2", "3"});
  stand.run.Push(4);
  const uint64_t model = stand.run.model_bytes();
  FileCounts counts;
  stand.MustFollow();
  CHECK(counts.Of("/versions/").written == 0);
  CHECK(counts.Of("/versions/2-").read == 0);
  CHECK(counts.Of("/versions/3-").read >= model);
  CHECK(counts.Of("/versions/3-").read < model + model / 10);
  CHECK(counts.Of("/.wdelta/.new.").written >= model);
  CHECK(counts.Of("/.wdelta/.new.").written < model + model / 10);
  CHECK(counts.Of("/.wdelta-apply").written == 0);
  CHECK(stand.Copies() == std::vector<std::string>{"3", "4"});
  CHECK(stand.run.folder().TreeOf("r/.wdelta/packs").empty());
  stand.ExpectStep(4);
}

TEST_CASE("a pull that finds nothing new takes one request and reads no weights") {
  Stand stand;
  stand.run.Push(1);
  stand.MustFollow();
  stand.run.store().ForgetCalls();
  FileCounts counts;
  const Result<FollowReport> report = stand.Follow();
  REQUIRE_OK(report);
  CHECK(report->up_to_date);
  CHECK(stand.run.store().Calls() == 1);
  CHECK(counts.Of("safetensors").read == 0);
}

TEST_CASE("a file that a server has open keeps its bytes, however many records are pulled after it") {
  Stand stand;
  stand.run.Push(1);
  stand.MustFollow();
  const Result<File> open = File::OpenForRead(stand.run.folder() / "r/current/m-1.safetensors");
  REQUIRE_OK(open);
  for (const uint16_t step : std::vector<uint16_t>{2, 3, 4}) {
    stand.run.Push(step);
    stand.MustFollow();
  }
  Bytes bytes(open->Identify()->size);
  REQUIRE_OK(open->ReadAt(0, bytes));
  CHECK(std::string(AsText(bytes)) == stand.run.TreeOfStep(1).at("m-1.safetensors"));
}

TEST_CASE("a kept copy is read before it becomes current, and one that was changed is built from something else") {
  Stand stand;
  for (const uint16_t step : std::vector<uint16_t>{1, 2}) {
    stand.run.Push(step);
    stand.MustFollow();
  }
  SUBCASE("it is intact") {
    FileCounts counts;
    stand.run.store().ForgetCalls();
    const Result<FollowReport> report = stand.Follow({}, "1");
    REQUIRE_OK(report);
    CHECK(report->wire_bytes == 0);
    CHECK(counts.Of("/versions/1-").read >= stand.run.model_bytes());
    CHECK(stand.notes.empty());
  }
  SUBCASE("a shard is shorter") {
    stand.Truncate(stand.ShardOf(1));
    stand.MustFollow({}, "1");
    CHECK(stand.notes.find("building from something else") != std::string::npos);
  }
  SUBCASE("a bit is another") {
    stand.Flip(stand.ShardOf(1));
    stand.MustFollow({}, "1");
    CHECK(stand.notes.find("is no longer what was pulled") != std::string::npos);
  }
  SUBCASE("in place") {
    stand.Flip(stand.ShardOf(1));
    stand.MustFollow(kInPlace, "1");
    CHECK(stand.Copies() == std::vector<std::string>{"1"});
  }
  stand.ExpectStep(1);
  stand.MustFollow();
  stand.ExpectStep(2);
}

TEST_CASE("the current copy is not a base if it was changed, and what is made from something else replaces it") {
  Stand stand;
  stand.run.Push(1);
  stand.MustFollow();
  stand.run.Push(2);
  for (const bool truncated : {true, false}) {
    if (truncated) stand.Truncate(stand.ShardOf(1));
    if (!truncated) stand.Flip(stand.ShardOf(2));
    stand.MustFollow();
    CHECK(stand.notes.find("building from something else") != std::string::npos);
    stand.ExpectStep(truncated ? 2 : 3);
    CHECK(stand.Copies().size() == 1);
    stand.run.Push(3);
  }
}

// A copy in the middle of being patched from record 1 to record 2: its journal is complete, and nothing of it is
// carried out; or half of it is.
void InterruptPatch(Stand& stand, bool carried_out) {
  Result<Replica> replica = Replica::Open(stand.run.folder() / "r", 0, {});
  REQUIRE_OK(replica);
  const ReplicaCopy copy = *replica->current();
  REQUIRE_OK(replica->BeginPatching(copy));
  const std::string shard = stand.ShardOf(1);
  std::string content = stand.run.folder().Read(shard);
  const std::string next = stand.run.TreeOfStep(2).at("m-1.safetensors");
  if (carried_out) stand.run.folder().Write(shard, next);
}

TEST_CASE("a copy that was half patched when a pull was killed is never taken for what it was") {
  for (const bool carried_out : {false, true}) {
    for (const char* revision : {"1", "2", ""}) {
      for (const bool in_place : {false, true}) {
        CAPTURE(carried_out);
        CAPTURE(revision);
        CAPTURE(in_place);
        Stand stand;
        stand.run.Push(1);
        stand.MustFollow(kInPlace);
        for (const uint16_t step : std::vector<uint16_t>{2, 3}) stand.run.Push(step);
        InterruptPatch(stand, carried_out);
        const Result<FollowReport> report = stand.Follow(in_place ? kInPlace : FollowOptions{}, revision);
        REQUIRE_OK(report);
        stand.ExpectStep(*revision ? static_cast<uint16_t>(*revision - '0') : 3);
        stand.MustFollow();
        stand.ExpectStep(3);
      }
    }
  }
}

TEST_CASE("after a revert a copy that was being patched is not taken for the record that came back") {
  for (const bool in_place : {false, true}) {
    CAPTURE(in_place);
    Stand stand;
    stand.run.Push(1);
    stand.MustFollow(kInPlace);
    stand.run.Push(2);
    InterruptPatch(stand, true);
    stand.run.Push(1);  // record 3 has the state of record 1
    stand.MustFollow(in_place ? kInPlace : FollowOptions{});
    stand.ExpectStep(1);
  }
}

TEST_CASE("in place a pull reads the model at most twice, and leaves one copy") {
  Stand stand;
  stand.run.Push(1);
  stand.MustFollow(kInPlace);
  stand.run.Push(2);
  FileCounts counts;
  stand.MustFollow(kInPlace);
  CHECK(counts.Of("/versions/1-").read <= 2 * stand.run.model_bytes() + 10'000);
  CHECK(stand.Copies() == std::vector<std::string>{"2"});
  stand.ExpectStep(2);
}

TEST_CASE("a base that is the goal already is read once, as it is copied, and nothing is fetched") {
  Stand stand;
  stand.run.Push(1);
  stand.run.Push(2);
  FollowOptions options;
  options.build.base = stand.run.Write(2);
  FileCounts counts;
  const Result<FollowReport> report = stand.Follow(options);
  REQUIRE_OK(report);
  CHECK(report->wire_bytes == 0);
  CHECK(report->plan.empty());
  CHECK(counts.Of("/packs/").written == 0);
  CHECK(counts.Of("/run/2/").read < stand.run.model_bytes() + 20'000);
  stand.ExpectStep(2);
}

TEST_CASE("a base that only looks like the goal is not taken for it") {
  Stand stand;
  stand.run.Push(1);
  stand.run.Push(2);
  FollowOptions options;
  options.build.base = stand.run.Write(2);
  const Tree right = stand.run.TreeOfStep(2);
  std::string wrong = right.at("m-1.safetensors");  // the small tensor, which is compared, is in the other shard
  wrong.back() = static_cast<char>(wrong.back() ^ 1);
  stand.run.folder().Write("run/2/m-1.safetensors", wrong);
  const Result<FollowReport> report = stand.Follow(options);
  REQUIRE_OK(report);
  CHECK(report->wire_bytes > 0);
  CHECK(stand.notes.find("is not record 2") != std::string::npos);
  CHECK(stand.run.folder().TreeOf("r/current") == right);
}

TEST_CASE("what is gone from the store is planned around, and named if there is no other way") {
  Stand stand;
  stand.run.Push(1);
  stand.MustFollow();
  stand.run.Push(2);
  stand.run.Push(3);
  stand.run.store().Erase(stand.run.ObjectOf(2));
  CHECK_FAILS(stand.Follow(), ErrorKind::kNotFound, "record 2");
  stand.ExpectStep(1);
  stand.run.Push(4, true);
  stand.MustFollow();
  stand.ExpectStep(4);
}

TEST_CASE("a history that was forked is refused, also where an anchor leads around the record that was pulled") {
  Stand stand;
  for (const uint16_t step : std::vector<uint16_t>{1, 2}) stand.run.Push(step);
  stand.MustFollow();
  StoredRun fork;
  for (const uint16_t step : std::vector<uint16_t>{1, 5}) fork.Push(step);
  fork.Push(6, true);
  for (const auto& [key, object] : fork.store().Objects()) stand.run.store().Put(key, object.bytes);
  CHECK_FAILS(stand.Follow(), ErrorKind::kRefused, "rewritten");
  stand.ExpectStep(2);
}

TEST_CASE("a record that claims more bytes than there are is no room, whatever is added to it") {
  Stand stand;
  stand.run.Push(1);
  std::string text(AsText(stand.run.store().Objects().at(RecordKey(1)).bytes));
  const std::string key = "\"bytes_total\":";
  for (size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
    const size_t begin = at + key.size(), end = text.find_first_not_of("0123456789", begin);
    text.replace(begin, end - begin, "18446744073709551615");
  }
  text.resize(text.find(",\"check\""));
  text += RecordCheck(text);
  stand.run.store().Put(RecordKey(1), Bytes(text.begin(), text.end()));
  CHECK_FAILS(stand.Follow(), ErrorKind::kLocalIo, "not enough room");
}

}  // namespace
}  // namespace wdelta
