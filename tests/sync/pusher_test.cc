#include "sync/pusher.h"

#include <filesystem>

#include "core/file_counts.h"
#include "support/faulty_remote.h"
#include "support/pushed_run.h"

namespace wdelta {

namespace {

// Once: all of it, and of the headers a little more.
bool IsOnce(uint64_t read, uint64_t bytes) {
  return read >= bytes && read < bytes + bytes / 20;
}

// A session in which nothing can be written below `prefix`.
Session WithFaultsAt(const PushedRun& run, std::string prefix) {
  return Session(WithFaults(OpenMemoryRemote(run.store), [=](std::string_view method, const std::string& key) {
    return method == "write" && key.starts_with(prefix) ? Fault::kFail : Fault::kNone;
  }));
}

// A remote that keeps what is written to one key for itself, and says that the connection broke.
class Keeping final : public Remote {
 public:
  Keeping(std::unique_ptr<Remote> inner, std::string key, Bytes* kept)
      : inner_(std::move(inner)), key_(std::move(key)), kept_(kept) {}
  const std::string& url() const override { return inner_->url(); }
  Result<ObjectPiece> Read(const std::string& key, uint64_t offset, uint64_t length, const std::string& etag) override {
    return inner_->Read(key, offset, length, etag);
  }
  Result<WriteResult> Write(const std::string& key, const ByteSource& source, WriteRule rule,
                            const std::string& etag) override {
    if (key != key_) return inner_->Write(key, source, rule, etag);
    kept_->resize(source.size());
    WD_TRY(source.ReadAt(0, *kept_));
    return Error{ErrorKind::kTransient, "no connection"};
  }
  Result<std::optional<ObjectInfo>> Stat(const std::string& key) override { return inner_->Stat(key); }
  Result<ObjectPage> List(const std::string& prefix, const std::string& after, unsigned limit) override {
    return inner_->List(prefix, after, limit);
  }
  Result<> Remove(const std::string& key) override { return inner_->Remove(key); }

 private:
  const std::unique_ptr<Remote> inner_;
  const std::string key_;
  Bytes* const kept_;
};

}  // namespace

TEST_CASE("a push reads base, source and its own pack once each, and opens the pack once") {
  const PushedRun run;
  run.PushMany(1);
  run.WriteModel("2", 2);
  const FileCounts files;
  const auto pushed = run.Push("2");
  REQUIRE_OK(pushed);
  CHECK(pushed->record.number == 2);
  const FileCount pack = files.Of("/spool.wdp");
  CHECK(pack.opened == 1);
  CHECK(pack.read == *pushed->record.delta_bytes);
  CHECK(IsOnce(files.Of("/base-").read, PushedRun::kModelBytes));
  CHECK(IsOnce(files.Of("/2/").read, PushedRun::kModelBytes));
}

TEST_CASE("into a folder, too") {
  const PushedRun run;
  run.WriteModel("1", 1);
  auto session = Session::Open("file://" + (run.folder / "remote"), {}, {});
  REQUIRE_OK(session);
  const FileCounts files;
  const auto pushed = PushToHistory(*session, {.source = run.folder / "1"}, {});
  REQUIRE_OK(pushed);
  CHECK(files.Of("/spool.wdp").read == *pushed->record.anchor_bytes);
  CHECK(IsOnce(files.Of("/1/").read, PushedRun::kModelBytes));
}

TEST_CASE("a push sends each of its objects once, and nothing else but a record, a hint and what tries the store") {
  const PushedRun run;
  run.PushMany(1);
  run.counts->Forget();
  run.WriteModel("2", 2);
  REQUIRE_OK(run.Push("2"));
  uint64_t object_bytes = 0, others = 0;
  for (const auto& [key, bytes] : run.counts->BytesWritten()) {
    if (key.starts_with(kObjectPrefix)) object_bytes += bytes;
    if (!key.starts_with(kObjectPrefix) && key != RecordKey(2) && key != kTipKey) ++others;
  }
  CHECK(object_bytes == run.store->Objects().at(run.ObjectOf(2)).bytes.size());
  CHECK(others == 0);
}

TEST_CASE("the same checkpoint pushed again makes no record, unless it is another step") {
  const PushedRun run;
  run.PushMany(2);
  const auto again = run.Push("2");
  REQUIRE_OK(again);
  CHECK(again->already_there);
  CHECK(again->record.number == 2);
  const auto step = run.Push({.source = "2", .step = 7});
  REQUIRE_OK(step);
  CHECK_FALSE(step->already_there);
  CHECK(step->record.number == 3);
}

TEST_CASE("a push that another one overtook says so, and with --rebase computes against the other's record") {
  const PushedRun run;
  run.PushMany(1);
  run.WriteModel("2", 2);
  run.WriteModel("elsewhere/3", 3);
  const std::string base = run.folder / "1";
  REQUIRE_OK(run.Push({.source = "elsewhere/3", .base = base}));
  CHECK_FAILS(run.Push("2"), ErrorKind::kConflict, "has a newer record");
  const auto rebased = run.Push({.source = "2", .rebase = true});
  REQUIRE_OK(rebased);
  CHECK(rebased->record.number == 3);
}

TEST_CASE("a base that is not the newest record is refused, and so is an empty history for a delta") {
  const PushedRun run;
  run.PushMany(2);
  run.WriteModel("3", 3);
  const std::string old = run.folder / "1";
  CHECK_FAILS(run.Push({.source = "3", .base = old}), ErrorKind::kConflict, "the newest record of");
  CHECK(run.Keys(kRecordPrefix).size() == 2);
}

TEST_CASE("what an interrupted push left is finished by the next one") {
  const PushedRun run;
  run.PushMany(1);
  run.WriteModel("2", 2);
  run.WriteModel("3", 3);
  {
    auto failing = WithFaultsAt(run, kRecordPrefix);
    CHECK_FALSE(PushToHistory(failing, {.source = run.folder / "2"}, run.context).ok());
  }
  const auto pushed = run.Push("3");
  REQUIRE_OK(pushed);
  CHECK(pushed->record.number == 3);
  CHECK(run.Noted("an interrupted push was finished: record 2"));
}

TEST_CASE("a record of a push that was killed may arrive while the next one finishes it, and is not doubled") {
  const PushedRun run;
  run.PushMany(1);
  run.WriteModel("2", 2);
  Bytes late;  // the record that the first push sent, and nobody has seen yet
  {
    Session killed(std::make_unique<Keeping>(OpenMemoryRemote(run.store), RecordKey(2), &late));
    CHECK_FALSE(PushToHistory(killed, {.source = run.folder / "2"}, run.context).ok());
  }
  REQUIRE_FALSE(late.empty());
  Session next(WithFaults(OpenMemoryRemote(run.store), [&](std::string_view method, const std::string& key) {
    if (method == "write" && key == RecordKey(2)) run.store->Put(key, late);
    return Fault::kNone;
  }));
  const auto pushed = PushToHistory(next, {.source = run.folder / "2"}, run.context);
  REQUIRE_OK(pushed);
  CHECK(pushed->record.number == 2);
  CHECK(run.Keys(kRecordPrefix).size() == 2);
}

TEST_CASE("a spool that cannot be read stops no push") {
  const PushedRun run;
  run.PushMany(1);
  run.WriteModel("2", 2);
  {
    auto failing = WithFaultsAt(run, kRecordPrefix);
    CHECK_FALSE(PushToHistory(failing, {.source = run.folder / "2"}, run.context).ok());
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(run.folder.path())) {
    if (entry.path().filename() == "spool.wdp") std::filesystem::resize_file(entry.path(), 0);
  }
  const auto pushed = run.Push("2");
  REQUIRE_OK(pushed);
  CHECK(pushed->record.number == 2);
  CHECK(run.Noted("cannot be used and is dropped"));
}

TEST_CASE("objects that gc took while a push stood still are sent again after the commit") {
  const PushedRun run;
  run.WriteModel("1", 1);
  Session session(WithFaults(OpenMemoryRemote(run.store), [&](std::string_view method, const std::string& key) {
    if (method == "write" && key.starts_with(kRecordPrefix)) {
      for (const std::string& object : run.Keys(kObjectPrefix)) run.store->Erase(object);
    }
    return Fault::kNone;
  }));
  REQUIRE_OK(PushToHistory(session, {.source = run.folder / "1"}, run.context));
  CHECK(run.store->Objects().contains(run.ObjectOf(1)));
}

TEST_CASE("an anchor is added when the last one is as many records back as was asked for") {
  const PushedRun run;
  run.PushMany(3);
  run.WriteModel("4", 4);
  const auto pushed = run.Push({.source = "4", .anchor_every = 3});
  REQUIRE_OK(pushed);
  CHECK(pushed->new_anchor_bytes.has_value());
  CHECK(run.store->Objects().contains(AddedWayKey(4, 0)));
}

}  // namespace wdelta
