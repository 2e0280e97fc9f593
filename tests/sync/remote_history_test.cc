#include "sync/remote_history.h"

#include "support/expect.h"
#include "support/made_history.h"
#include "support/memory_remote.h"

namespace wdelta {

namespace {

void Add(MemoryStore& store, const std::string& key, const std::string& text) {
  const ByteSpan bytes = AsBytes(text);
  store.Put(key, Bytes(bytes.begin(), bytes.end()));
}

// A store with these records, and a hint at `hint` (0: none).
std::shared_ptr<MemoryStore> StoreWith(const std::vector<Record>& history, uint64_t hint) {
  auto store = std::make_shared<MemoryStore>();
  for (const Record& record : history) Add(*store, RecordKey(record.entry.number), RecordText(record));
  if (hint > 0) Add(*store, kTipKey, TipHintText({hint, {}, {}}));
  return store;
}

// A remote that cannot list, as a static mirror.
class Unlisted final : public Remote {
 public:
  explicit Unlisted(std::unique_ptr<Remote> inner) : inner_(std::move(inner)) {}
  const std::string& url() const override { return inner_->url(); }
  Result<ObjectPiece> Read(const std::string& key, uint64_t offset, uint64_t length,
                           const std::string& version) override {
    return inner_->Read(key, offset, length, version);
  }
  Result<WriteResult> Write(const std::string&, const ByteSource&, WriteRule, const std::string&) override {
    return Refusal();
  }
  Result<std::optional<ObjectInfo>> Stat(const std::string& key) override { return inner_->Stat(key); }
  Result<ObjectPage> List(const std::string&, const std::string&, unsigned) override { return Refusal(); }
  Result<> Remove(const std::string&) override { return Refusal(); }

 private:
  static Error Refusal() { return Error{ErrorKind::kRefused, "read only"}; }
  std::unique_ptr<Remote> inner_;
};

std::unique_ptr<Remote> Open(const std::shared_ptr<MemoryStore>& store, bool lists) {
  std::unique_ptr<Remote> remote = OpenMemoryRemote(store);
  if (lists) return remote;
  return std::make_unique<Unlisted>(std::move(remote));
}

}  // namespace

TEST_CASE("the end of a history is found from a hint that is right, old, missing or wrong") {
  const std::vector<Record> history = MadeHistory(37);
  for (const bool lists : {true, false}) {
    for (const uint64_t hint : {37, 36, 20, 1, 0, 90}) {
      const auto store = StoreWith(history, hint);
      const auto remote = Open(store, lists);
      const Result<uint64_t> tip = RemoteHistory(*remote).FindTip();
      REQUIRE_OK(tip);
      CHECK(*tip == 37);
    }
  }
  const auto empty = Open(std::make_shared<MemoryStore>(), true);
  CHECK(*RemoteHistory(*empty).FindTip() == 0);
  CHECK_FAILS(RemoteHistory(*empty).FindExistingTip(), ErrorKind::kNotFound, "holds no history");
}

TEST_CASE("planning from five hundred records behind takes at most ten requests") {
  for (const uint64_t count : {501, 511, 512, 513, 767, 1000, 1023}) {
    const std::vector<Record> history = MadeHistory(count);
    for (const bool lists : {true, false}) {
      const auto store = StoreWith(history, 0);
      // An anchor that might pay costs reads of its own.
      Add(*store, kTipKey, TipHintText({count, {count - 400, count - 1}, {}}));
      for (const uint64_t number : {count - 400, count - 1}) {
        const Way way{0, {{MadeDigest("anchor", number), 600'000}}};
        Add(*store, AddedWayKey(number, 0),
            AddedWayText({history[0].history, number, history[number - 1].entry.state, way}));
      }
      const auto remote = Open(store, lists);
      RemoteHistory reader(*remote);
      const uint64_t had = count - 500;
      const Result<News> news = reader.LookPast(had);
      REQUIRE_OK(news);
      CHECK(news->since == SinceThen::kGrew);
      const Result<RecordEntry> target = reader.Resolve({});
      REQUIRE_OK(target);
      const auto have = [&](const RecordEntry& entry) { return entry.number == had; };
      Result<PlanInput> input = reader.GatherPlan(*target, {have, true, false});
      REQUIRE_OK(input);
      input->cost = [](const Way& way) { return std::optional(way.bytes()); };
      const Result<Route> plan = FindRoute(*input);
      REQUIRE_OK(plan);
      CHECK(plan->start == had);
      CHECK(plan->ways.size() == 500);
      INFO(count, " records, ", lists ? "listed" : "probed");
      CHECK(store->Calls() <= 10);
    }
  }
}

TEST_CASE("one request tells that nothing is new, that something is, or that records have vanished") {
  const auto store = StoreWith(MadeHistory(9), 9);
  const auto remote = Open(store, true);
  const auto look = [&](uint64_t number) {
    store->ForgetCalls();
    const Result<News> news = RemoteHistory(*remote).LookPast(number);
    REQUIRE_OK(news);
    CHECK(store->Calls() == (number > 9 ? 2 : 1));  // before it says that records have vanished, it looks twice
    CHECK(news->mark.empty() == (number > 9));
    return news->since;
  };
  CHECK(look(9) == SinceThen::kSame);
  CHECK(look(8) == SinceThen::kGrew);
  CHECK(look(10) == SinceThen::kWentBackwards);
  CHECK(look(1) == SinceThen::kGrew);
}

TEST_CASE("a listing that names a record that is not there leads nobody astray") {
  const auto store = StoreWith(MadeHistory(9), 9);
  // As a listing with a flipped bit would say it: record 17 in the place of 9.
  class Liar final : public Remote {
   public:
    explicit Liar(std::unique_ptr<Remote> inner) : inner_(std::move(inner)) {}
    const std::string& url() const override { return inner_->url(); }
    Result<ObjectPiece> Read(const std::string& key, uint64_t offset, uint64_t length,
                             const std::string& version) override {
      return inner_->Read(key, offset, length, version);
    }
    Result<WriteResult> Write(const std::string& key, const ByteSource& source, WriteRule rule,
                              const std::string& version) override {
      return inner_->Write(key, source, rule, version);
    }
    Result<std::optional<ObjectInfo>> Stat(const std::string& key) override { return inner_->Stat(key); }
    Result<ObjectPage> List(const std::string& prefix, const std::string& after, unsigned limit) override {
      Result<ObjectPage> page = inner_->List(prefix, after, limit);
      if (page.ok() && !page->objects.empty()) page->objects.back().key = RecordKey(17);
      return page;
    }
    Result<> Remove(const std::string& key) override { return inner_->Remove(key); }

   private:
    std::unique_ptr<Remote> inner_;
  } liar(OpenMemoryRemote(store));
  const Result<uint64_t> tip = RemoteHistory(liar).FindTip();
  REQUIRE_OK(tip);
  CHECK(*tip == 9);
}

TEST_CASE("records are found by number, by distance, by step, by state and by tag") {
  std::vector<Record> history = MadeHistory(40);
  const auto store = StoreWith(history, 40);
  Add(*store, TagKey("best"), TagText({12, history[11].entry.state}));
  Add(*store, TagKey("lost"), TagText({12, history[12].entry.state}));
  const auto remote = Open(store, true);
  RemoteHistory reader(*remote);
  const auto number = [&](const std::string& text) {
    const Result<Revision> revision = ParseRevision(text);
    REQUIRE_OK(revision);
    const Result<RecordEntry> entry = reader.Resolve(*revision);
    REQUIRE_OK(entry);
    CHECK(*entry == history[entry->number - 1].entry);
    return entry->number;
  };
  CHECK(number("HEAD") == 40);
  CHECK(number("HEAD~39") == 1);
  CHECK(number("17") == 17);
  CHECK(number("step:123") == 23);
  CHECK(number("best") == 12);
  CHECK(number(Hex(history[6].entry.state).substr(0, 12)) == 7);
  for (const char* text : {"HEAD~40", "41", "0", "step:9", "nobody", "00000000aaaa"}) {
    CHECK_FAILS(reader.Resolve(*ParseRevision(text)), ErrorKind::kNotFound, "has no");
  }
  CHECK_FAILS(reader.Resolve(*ParseRevision("lost")), ErrorKind::kIntegrity, "another state");
}

TEST_CASE("a record that was exchanged is noticed by those that were written after it") {
  std::vector<Record> history = MadeHistory(40);
  history[31].entry.step = 7;  // record 32, which a walk from 40 comes to
  const auto remote = Open(StoreWith(history, 40), true);
  CHECK_FAILS(RemoteHistory(*remote).Entries(1, 40), ErrorKind::kIntegrity, "not the record that record");
}

TEST_CASE("of two that append the same number one is told that it lost") {
  const std::vector<Record> history = MadeHistory(3);
  const auto store = StoreWith({history[0], history[1]}, 2);
  const auto one = Open(store, true), two = Open(store, true);
  Record other = history[2];
  other.writer = std::string(32, 'f');
  const Result<bool> first = RemoteHistory(*one).Append(history[2]), second = RemoteHistory(*two).Append(other);
  REQUIRE_OK(first);
  REQUIRE_OK(second);
  CHECK(*first);
  CHECK_FALSE(*second);
}

TEST_CASE("whoever has nothing reads back to the newest anchor and no further") {
  const std::vector<Record> history = MadeHistory(400);
  const auto store = StoreWith(history, 0);
  Add(*store, kTipKey, TipHintText({400, {100, 380}, {}}));
  const AddedWay anchor{history[0].history, 380, history[379].entry.state, {0, {{MadeDigest("anchor", 380), 999'000}}}};
  Add(*store, AddedWayKey(380, 0), AddedWayText(anchor));
  const auto remote = Open(store, true);
  RemoteHistory reader(*remote);
  const Result<RecordEntry> target = reader.Resolve({});
  REQUIRE_OK(target);
  const auto nothing = [](const RecordEntry&) { return false; };
  Result<PlanInput> input = reader.GatherPlan(*target, {nothing, false, false});
  REQUIRE_OK(input);
  input->cost = [](const Way& way) { return std::optional(way.bytes()); };
  const Result<Route> plan = FindRoute(*input);
  REQUIRE_OK(plan);
  CHECK(plan->ways.front().to == 380);
  CHECK(plan->ways.size() == 21);
  CHECK(store->Calls() <= 10);
}

}  // namespace wdelta
