#include "sync/gc_fence.h"

#include <chrono>
#include <future>
#include <thread>

#include "support/expect.h"
#include "support/faulty_remote.h"
#include "support/memory_remote.h"
#include "support/random_checkpoint.h"
#include "sync/record_commit.h"
#include "wdelta.h"

namespace wdelta {

namespace {

using std::chrono::milliseconds;

// A history that goes to and fro between two states: records 1 (an anchor of the first), 2 (to the second), 3 (back,
// with an anchor that was added). Only the pack of record 2 is garbage when one record is kept.
class ToAndFro {
 public:
  ToAndFro() {
    store->SetClock([this] { return now.load(); });
    WriteCheckpoint(folder_, "one", {.shards = {{.tensors = {Ramp("w", 100, 0x3c00)}}}});
    WriteCheckpoint(folder_, "two", {.shards = {{.tensors = {Ramp("w", 100, 0x3d00)}}}});
    Make({folder_ / "one"}, true, "one.wdp");
    Make({folder_ / "one", folder_ / "two"}, false, "there.wdp");
    Make({folder_ / "two", folder_ / "one"}, false, "back.wdp");
    for (const char* name : {"one.wdp", "there.wdp", "back.wdp"}) Push(name);
    const auto remote = OpenMemoryRemote(store);
    RemoteHistory history(*remote);
    const auto one = Checkpoint::Open(folder_ / "one", {}, [](const std::string&) {});
    REQUIRE_OK(one);
    uint64_t wire_bytes = 0;
    const auto newest = history.Read(3);
    REQUIRE_OK(newest);
    REQUIRE_OK(AddAnchor(history, **newest, *one, folder_ / "anchor.wdp", 1, {}, &wire_bytes));
    CHECK(wire_bytes == 0);  // the anchor of record 1 is used again
    const Result<ReadyPack> there = CheckPack(folder_ / "there.wdp", {});
    REQUIRE_OK(there);
    garbage = there->AsWay(1);
    now += 1000;
  }

  // Makes this pack the next record.
  void Push(const std::string& name) {
    const auto remote = OpenMemoryRemote(store);
    RemoteHistory history(*remote);
    const auto number = history.FindTip();
    REQUIRE_OK(number);
    std::shared_ptr<const Record> tip;
    if (*number > 0) tip = *history.Read(*number);
    const auto pack = CheckPack(folder_ / name, {});
    REQUIRE_OK(pack);
    const auto committed = CommitPack(history, tip.get(), *pack, {RandomHex(16), {}}, false, 1, {});
    REQUIRE_OK(committed);
    CHECK(committed->has_value());
  }
  bool HasGarbage() const { return store->Objects().contains(GarbageKey()); }
  std::string GarbageKey() const { return ObjectKey(garbage.objects[0].sha256); }
  uint64_t Count(const std::string& prefix) const {
    uint64_t count = 0;
    for (const auto& [key, object] : store->Objects()) count += key.starts_with(prefix);
    return count;
  }

  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  std::atomic<int64_t> now = 1'700'000'000;
  Way garbage;

 private:
  void Make(const std::vector<std::string>& inputs, bool anchor, const std::string& name) {
    PackRequest request;
    request.inputs = inputs;
    request.anchor = anchor;
    request.output = folder_ / name;
    REQUIRE_OK(Pack(request, {}));
  }
  const ScratchFolder folder_;
};

// Collects all but what leads to the newest record.
Result<GcReport> Gather(Remote& remote) {
  GcOptions request;
  request.keep = 1;
  request.grace = 100;
  request.remove = true;
  return GcFrom(remote, remote, request);
}

}  // namespace

TEST_CASE("what no kept record needs is collected, and no trace of the sweep is left") {
  ToAndFro history;
  const auto report = Gather(*OpenMemoryRemote(history.store));
  REQUIRE_OK(report);
  CHECK(report->objects_removed == 1);
  CHECK_FALSE(history.HasGarbage());
  CHECK(history.Count(kSweepPrefix) + history.Count(kPinPrefix) == 0);
}

TEST_CASE("an object is collected when it is surely older than the grace period, by a clock of whole seconds") {
  ToAndFro history;
  history.now -= 1000 - 100;  // it may have come at the end of its second, and be 99.1 s old
  auto report = Gather(*OpenMemoryRemote(history.store));
  REQUIRE_OK(report);
  CHECK(report->objects_too_young == 1);
  CHECK(history.HasGarbage());
  history.now += 1;
  report = Gather(*OpenMemoryRemote(history.store));
  REQUIRE_OK(report);
  CHECK(report->objects_removed == 1);
  CHECK_FALSE(history.HasGarbage());
}

TEST_CASE("an object that a push uses again is there after its commit, at whatever moment a collector meets it") {
  // The push runs to its end, if nothing holds it up, between two calls of the collector: before the first, the second,
  // and so on, until the collector makes no more calls.
  for (uint64_t moment = 0, calls = 1; moment < calls; ++moment) {
    ToAndFro history;
    std::thread pusher;
    std::promise<void> ended;
    std::future<void> end = ended.get_future();
    uint64_t call = 0;
    const auto watched = WithFaults(OpenMemoryRemote(history.store), [&](std::string_view, const std::string&) {
      if (call++ == moment) {
        pusher = std::thread([&] {
          history.Push("there.wdp");
          ended.set_value();
        });
        end.wait_for(milliseconds(250));
      }
      return Fault::kNone;
    });
    REQUIRE_OK(Gather(*watched));
    pusher.join();
    INFO("a push before call ", moment, " of the collector, which makes ", call);
    CHECK(history.HasGarbage());
    CHECK(history.Count("records/") == 4);
    CHECK(history.Count(kPinPrefix) == 0);
    calls = call;
  }
}

TEST_CASE(
    "a record that is tagged is kept, or the tag says that it came too late, at whatever moment a collector meets it") {
  uint64_t kept_in_time = 0;
  for (uint64_t moment = 0, calls = 1; moment < calls; ++moment) {
    ToAndFro history;
    std::thread tagger;
    std::promise<bool> ended;
    std::future<bool> end = ended.get_future();
    uint64_t call = 0;
    const auto watched = WithFaults(OpenMemoryRemote(history.store), [&](std::string_view, const std::string&) {
      if (call++ == moment) {
        tagger = std::thread([&] {
          const auto remote = OpenMemoryRemote(history.store);
          const auto entries = RemoteHistory(*remote).Entries(2, 2);
          const Result<bool> kept = TagAndKeep(*remote, "best", entries->at(0), false, {});
          ended.set_value(kept.ok() && *kept);
        });
        end.wait_for(milliseconds(250));
      }
      return Fault::kNone;
    });
    REQUIRE_OK(Gather(*watched));
    tagger.join();
    INFO("a tag before call ", moment, " of the collector, which makes ", call);
    const bool said_kept = end.get();
    CHECK(said_kept == history.HasGarbage());
    kept_in_time += said_kept;
    calls = call;
  }
  CHECK(kept_in_time > 0);
}

TEST_CASE("a pin holds its object for an hour at least, and is then removed with it") {
  ToAndFro history;
  history.store->Put(kPinPrefix + Hex(history.garbage.objects[0].sha256) + "/" + RandomHex(16), {1});
  const auto remote = OpenMemoryRemote(history.store);
  history.now += 3599;
  REQUIRE_OK(Gather(*remote));
  CHECK(history.HasGarbage());
  history.now += 1;
  REQUIRE_OK(Gather(*remote));
  CHECK_FALSE(history.HasGarbage());
  CHECK(history.Count(kPinPrefix) == 0);
}

TEST_CASE("one collector sweeps at a time, and one that died is waited for no longer than five minutes") {
  ToAndFro history;
  history.store->Put(kSweepPrefix + RandomHex(16), {1});
  const auto remote = OpenMemoryRemote(history.store);
  history.now += 299;
  CHECK_FAILS(Gather(*remote), ErrorKind::kBusy, "for 299 s");
  CHECK(history.HasGarbage());
  CHECK(history.Count(kSweepPrefix) == 1);
  history.now += 1;
  REQUIRE_OK(Pins::Put(*remote, history.garbage.objects, {}));
  REQUIRE_OK(Gather(*remote));
  CHECK_FALSE(history.HasGarbage());
  CHECK(history.Count(kSweepPrefix) == 0);
}

TEST_CASE("an anchor of which an object is missing does not make what lies before it garbage") {
  ToAndFro history;
  const auto records = RemoteHistory(*OpenMemoryRemote(history.store)).Entries(1, 3);
  REQUIRE_OK(records);
  history.store->Erase(ObjectKey((*records)[0].anchor->objects[0].sha256));
  REQUIRE_OK(Gather(*OpenMemoryRemote(history.store)));
  CHECK(history.HasGarbage());
}

}  // namespace wdelta
