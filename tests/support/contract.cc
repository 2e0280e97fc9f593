#include "remote/contract.h"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <set>
#include <thread>

#include "core/digest.h"
#include "remote/retry.h"
#include "support/expect.h"
#include "support/faulty_remote.h"
#include "support/random_checkpoint.h"

namespace wdelta {
namespace {

constexpr uint64_t kAll = uint64_t{1} << 40;

class Contract {
 public:
  Contract(const OpenForTest& open, const ContractTraits& traits, const OpenForTest& open_writer)
      : traits_(traits),
        open_writer_(traits.writable ? open : open_writer),
        remote_(open()),
        writer_(open_writer_()),
        home_("contract-" + RandomHex(6) + "/") {}

  void Run() {
    Content();
    Ranges();
    Absence();
    Replacement();
    Versions();
    Race(WriteRule::kIfAbsent);
    if (traits_.versions) {
      ReplacementOfVersion();
      LostAnswers();
      Race(WriteRule::kIfVersion);
    } else {
      CHECK_FAILS(writer_->Write(home_ + "x", MemorySource({}), WriteRule::kIfVersion, "1"), ErrorKind::kRefused, "");
    }
    Names();
    if (traits_.can_list) {
      Listing();
      Pages();
    } else {
      CHECK_FAILS(remote_->List("", "", 10), ErrorKind::kRefused, "");
    }
    Refusals();
    for (const std::string& key : created_) REQUIRE_OK(writer_->Remove(key));
    if (traits_.can_list) {
      const auto page = remote_->List(home_, "", 1000);
      REQUIRE_OK(page);
      CHECK(page->objects.empty());
      CHECK_FALSE(page->more);
    }
  }

 private:
  std::string Key(const std::string& name) {
    created_.insert(home_ + name);
    return home_ + name;
  }

  WriteResult Write(const std::string& key, ByteSpan bytes, WriteRule rule, const std::string& version = {}) {
    const auto result = writer_->Write(key, MemorySource(bytes), rule, version);
    INFO("writing ", key, ": ", Outcome(result));
    REQUIRE(result.ok());
    return *result;
  }

  // As whoever writes sees it; a mirror in between may name it otherwise.
  std::string VersionOf(const std::string& key) {
    const auto piece = writer_->Read(key, 0, 1);
    REQUIRE_OK(piece);
    return piece->version;
  }

  void CheckWhole(const std::string& key, ByteSpan bytes) {
    const auto piece = remote_->Read(key, 0, kAll);
    INFO("reading ", key, ": ", Outcome(piece));
    REQUIRE(piece.ok());
    CHECK(piece->size == bytes.size());
    CHECK(std::ranges::equal(piece->bytes, bytes));
    const auto info = remote_->Stat(key);
    REQUIRE_OK(info);
    REQUIRE(info->has_value());
    CHECK((*info)->key == key);
    CHECK((*info)->size == bytes.size());
  }

  void Content() {
    Dice dice(1);
    std::vector<size_t> sizes{0, 1, (1 << 20) + 3};
    if (traits_.large) sizes.push_back(70 << 20);
    const int64_t before = StoreTime();
    for (const size_t size : sizes) {
      INFO("an object of ", size, " bytes");
      const std::string key = Key("content/of-" + std::to_string(size));
      const Bytes bytes = RandomBytes(dice, size);
      CHECK(Write(key, bytes, WriteRule::kIfAbsent) == WriteResult::kWritten);
      CheckWhole(key, bytes);
    }
    const auto info = remote_->Stat(home_ + "content/of-1");
    REQUIRE_OK(info);
    if ((*info)->modified == 0) return;
    CHECK((*info)->modified >= before - 5);
    CHECK((*info)->modified <= StoreTime() + 5);
  }

  int64_t StoreTime() {
    if (!traits_.can_list) return time(nullptr);
    const auto page = remote_->List(home_, "", 1);
    REQUIRE_OK(page);
    return page->now;
  }

  void Ranges() {
    Dice dice(2);
    const Bytes bytes = RandomBytes(dice, 1000);
    const std::string key = Key("ranges");
    Write(key, bytes, WriteRule::kReplace);
    const std::pair<uint64_t, uint64_t> ranges[] = {{0, 1},      {0, 1000}, {0, 1001},   {1, 998},  {999, 1},
                                                    {999, 2},    {500, 0},  {500, kAll}, {1000, 1}, {1000, 0},
                                                    {1001, 100}, {kAll, 1}, {0, 0}};
    for (const auto& range : ranges) {
      const uint64_t offset = range.first, length = range.second;
      INFO(length, " bytes from ", offset);
      const auto piece = remote_->Read(key, offset, length);
      REQUIRE_OK(piece);
      CHECK(piece->size == bytes.size());
      const size_t begin = std::min<uint64_t>(offset, bytes.size());
      const size_t count = std::min<uint64_t>(length, bytes.size() - begin);
      CHECK(std::ranges::equal(piece->bytes, ByteSpan(bytes).subspan(begin, count)));
    }
    const std::string empty = Key("empty");
    Write(empty, {}, WriteRule::kReplace);
    const auto nothing = remote_->Read(empty, 0, 10);
    REQUIRE_OK(nothing);
    CHECK(nothing->size == 0);
    CHECK(nothing->bytes.empty());
  }

  void Absence() {
    for (const std::string& key : {home_ + "absent", home_ + "absent/below/it"}) {
      CHECK_FAILS(remote_->Read(key, 0, 10), ErrorKind::kNotFound, "");
      CHECK_FAILS(remote_->Read(key, 0, 0), ErrorKind::kNotFound, "");
      const auto info = remote_->Stat(key);
      REQUIRE_OK(info);
      CHECK_FALSE(info->has_value());
      REQUIRE_OK(writer_->Remove(key));
    }
    const std::string key = Key("removed");
    Write(key, AsBytes("x"), WriteRule::kIfAbsent);
    REQUIRE_OK(writer_->Remove(key));
    REQUIRE_OK(writer_->Remove(key));
    CHECK_FAILS(remote_->Read(key, 0, 10), ErrorKind::kNotFound, "");
    CHECK(Write(key, AsBytes("again"), WriteRule::kIfAbsent) == WriteResult::kWritten);
    CheckWhole(key, AsBytes("again"));
    // What has objects below it is none itself.
    Write(Key("group/member"), AsBytes("x"), WriteRule::kReplace);
    CHECK_FAILS(remote_->Read(home_ + "group", 0, 10), ErrorKind::kNotFound, "");
    const auto group = remote_->Stat(home_ + "group");
    REQUIRE_OK(group);
    CHECK_FALSE(group->has_value());
  }

  void Replacement() {
    const std::string key = Key("replaced");
    CHECK(Write(key, AsBytes("first"), WriteRule::kReplace) == WriteResult::kWritten);
    CheckWhole(key, AsBytes("first"));
    CHECK(Write(key, AsBytes("the second"), WriteRule::kReplace) == WriteResult::kWritten);
    CheckWhole(key, AsBytes("the second"));
    CHECK(Write(key, AsBytes("third, too late"), WriteRule::kIfAbsent) == WriteResult::kExists);
    CheckWhole(key, AsBytes("the second"));
    CHECK(Write(key, {}, WriteRule::kReplace) == WriteResult::kWritten);
    CheckWhole(key, {});
  }

  void Versions() {
    const std::string key = Key("versions");
    Write(key, AsBytes("one version"), WriteRule::kReplace);
    const auto one = remote_->Read(key, 0, 3);
    REQUIRE_OK(one);
    if (!traits_.versions) return;
    CHECK_FALSE(one->version.empty());
    const auto rest = remote_->Read(key, 3, kAll, one->version);
    REQUIRE_OK(rest);
    CHECK(AsText(rest->bytes) == " version");
    CHECK(rest->version == one->version);
    Write(key, AsBytes("another version"), WriteRule::kReplace);
    CHECK_FAILS(remote_->Read(key, 3, kAll, one->version), ErrorKind::kConflict, "");
    const auto other = remote_->Read(key, 0, kAll);
    REQUIRE_OK(other);
    CHECK(other->version != one->version);
  }

  void ReplacementOfVersion() {
    const auto replace = [&](const std::string& key, std::string_view text, const std::string& version) {
      return Write(key, AsBytes(text), WriteRule::kIfVersion, version);
    };
    const std::string key = Key("pointers/one"), other = Key("pointers/other");
    Write(key, AsBytes("first"), WriteRule::kReplace);
    const std::string first = VersionOf(key);
    CHECK(replace(key, "the second", first) == WriteResult::kWritten);
    CheckWhole(key, AsBytes("the second"));
    CHECK(replace(key, "third, too late", first) == WriteResult::kChanged);
    CheckWhole(key, AsBytes("the second"));
    const std::string second = VersionOf(key);
    CHECK(second != first);
    CHECK(replace(key, "a third", second) == WriteResult::kWritten);
    CheckWhole(key, AsBytes("a third"));
    const std::string third = VersionOf(key);
    Write(key, AsBytes("a fourth, by another rule"), WriteRule::kReplace);
    CHECK(replace(key, "fifth", third) == WriteResult::kChanged);
    CheckWhole(key, AsBytes("a fourth, by another rule"));
    CHECK_FAILS(writer_->Write(key, MemorySource({}), WriteRule::kIfVersion), ErrorKind::kRefused, "version");

    const std::string fourth = VersionOf(key);
    REQUIRE_OK(writer_->Remove(key));
    for (const std::string& gone : {key, home_ + "pointers/never/there"}) {
      CHECK(replace(gone, "x", fourth) == WriteResult::kChanged);
      CHECK_FAILS(remote_->Read(gone, 0, 10), ErrorKind::kNotFound, "");
    }
    Write(other, AsBytes("another object"), WriteRule::kReplace);
    CHECK(replace(other, "x", fourth) == WriteResult::kChanged);
    CheckWhole(other, AsBytes("another object"));
  }

  void LostAnswers() {
    RetryPace pace;
    pace.wait = [](double) { return Result<>(); };
    const auto writer = [&](std::vector<Fault> faults) {
      return WithRetries(WithFaults(open_writer_(), InOrder(std::move(faults))), {}, {}, pace);
    };
    const std::string key = Key("pointers/of-lost-answers");
    Write(key, AsBytes("first"), WriteRule::kReplace);
    const std::string first = VersionOf(key);
    const auto won = writer({Fault::kFail, Fault::kLoseAnswer, Fault::kLoseAnswer})
                         ->Write(key, MemorySource(AsBytes("the second")), WriteRule::kIfVersion, first);
    REQUIRE_OK(won);
    CHECK(*won == WriteResult::kWritten);
    const auto lost = writer({Fault::kLoseAnswer})
                          ->Write(key, MemorySource(AsBytes("third, too late")), WriteRule::kIfVersion, first);
    REQUIRE_OK(lost);
    CHECK(*lost == WriteResult::kChanged);
    CheckWhole(key, AsBytes("the second"));
  }

  // One attempt to create. One to replace may end in passing trouble, and is repeated: that is what some stores answer
  // to those who come late by a moment only.
  static std::string WriteInRace(Remote& remote, const std::string& key, const std::string& content, WriteRule rule,
                                 const std::string& version) {
    for (unsigned attempts = 1;; ++attempts) {
      const auto result = remote.Write(key, MemorySource(AsBytes(content)), rule, version);
      const bool passing = !result.ok() && result.error().kind == ErrorKind::kTransient;
      if (passing && rule == WriteRule::kIfVersion && attempts < 20) continue;
      if (!result.ok()) return Outcome(result);
      if (*result == WriteResult::kWritten) return "written";
      return (*result == WriteResult::kExists) == (rule == WriteRule::kIfAbsent) ? "late" : "for the wrong reason";
    }
  }

  void Race(WriteRule rule) {
    const bool if_absent = rule == WriteRule::kIfAbsent;
    for (int round = 0; round < 4; ++round) {
      const std::string key = Key((if_absent ? "race/" : "race-of-pointers/") + std::to_string(round));
      if (!if_absent) Write(key, AsBytes("at the start"), WriteRule::kReplace);
      const std::string version = if_absent ? "" : VersionOf(key);
      std::vector<std::unique_ptr<Remote>> handles;
      for (unsigned i = 0; i < traits_.racers; ++i) handles.push_back(open_writer_());
      std::vector<std::string> contents;
      for (unsigned i = 0; i < traits_.racers; ++i) contents.push_back("by racer " + std::to_string(i));
      std::vector<std::string> outcomes(traits_.racers);
      std::atomic<unsigned> waiting = traits_.racers;
      std::vector<std::thread> threads;
      for (unsigned i = 0; i < traits_.racers; ++i) {
        threads.emplace_back([&, i] {
          for (--waiting; waiting > 0;) std::this_thread::yield();
          outcomes[i] = WriteInRace(*handles[i], key, contents[i], rule, version);
        });
      }
      for (std::thread& thread : threads) thread.join();
      unsigned winners = 0;
      for (unsigned i = 0; i < traits_.racers; ++i) {
        INFO("racer ", i, ": ", outcomes[i]);
        CHECK((outcomes[i] == "written" || outcomes[i] == "late"));
        if (outcomes[i] != "written") continue;
        ++winners;
        CheckWhole(key, AsBytes(contents[i]));
      }
      CHECK(winners == 1);
    }
  }

  void Names() {
    for (const char* name : {"abcdefghijklmnopqrstuvwxyz0123456789-_.", "-", "_", "a..b", "a.", "1/2/3/4/5/6/7/8",
                             "x/-/_", "con.txt/aux-"}) {
      const std::string key = Key(std::string("names/") + name);
      Write(key, AsBytes(name), WriteRule::kIfAbsent);
      CheckWhole(key, AsBytes(name));
    }
  }

  std::vector<std::string> Listed(const std::string& prefix, const std::string& after, unsigned limit, bool more) {
    const auto page = remote_->List(home_ + prefix, after.empty() ? "" : home_ + after, limit);
    INFO("listing ", prefix, " after ", after, ": ", Outcome(page));
    REQUIRE(page.ok());
    CHECK(page->more == more);
    std::vector<std::string> names;
    for (const ObjectInfo& object : page->objects) names.push_back(object.key.substr(home_.size()));
    return names;
  }

  void Listing() {
    using Names = std::vector<std::string>;
    // Nothing here is both an object and a group of objects, which a folder cannot have.
    const Names kept{"l/a-b/-", "l/a.b", "l/a/b", "l/a/b-c", "l/a/b.c/d", "l/a/c", "l/a0", "l/a_b", "l/ab"};
    for (auto name = kept.rbegin(); name != kept.rend(); ++name) Write(Key(*name), AsBytes(*name), WriteRule::kReplace);
    CHECK(Listed("l/", "", 1000, false) == kept);
    CHECK(Listed("l/a", "", 1000, false) == kept);
    CHECK(Listed("l/a/", "", 1000, false) == Names{"l/a/b", "l/a/b-c", "l/a/b.c/d", "l/a/c"});
    CHECK(Listed("l/a/b", "", 1000, false) == Names{"l/a/b", "l/a/b-c", "l/a/b.c/d"});
    CHECK(Listed("l/a/b.", "", 1000, false) == Names{"l/a/b.c/d"});
    CHECK(Listed("l/ab", "", 1000, false) == Names{"l/ab"});
    CHECK(Listed("l/b", "", 1000, false).empty());
    CHECK(Listed("l/", "l/ab", 1000, false).empty());
    for (size_t i = 0; i < kept.size(); ++i) {
      CHECK(Listed("l/", kept[i], 1000, false) == Names(kept.begin() + i + 1, kept.end()));
      if (i + 1 < kept.size()) CHECK(Listed("l/", kept[i], 1, i + 2 < kept.size()) == Names{kept[i + 1]});
    }
    CHECK(Listed("l/", "l/a/", 1, true) == Names{"l/a/b"});
    CHECK(Listed("l/", "l/a/b.c", 2, true) == Names{"l/a/b.c/d", "l/a/c"});
    const auto page = remote_->List(home_ + "l/ab", "", 10);
    REQUIRE_OK(page);
    REQUIRE(page->objects.size() == 1);
    CHECK(page->objects[0].size == 4);
    CHECK(page->now != 0);
  }

  void Pages() {
    std::vector<std::string> keys;
    for (unsigned i = 0; i < traits_.listed; ++i) keys.push_back(Key("pages/" + std::to_string(i * 7919 % 100003)));
    for (const std::string& key : keys) Write(key, AsBytes("x"), WriteRule::kReplace);
    std::ranges::sort(keys);
    std::vector<std::string> found;
    for (std::string after;;) {
      const auto page = remote_->List(home_ + "pages/", after, 1000);
      REQUIRE_OK(page);
      CHECK(page->objects.size() <= 1000);
      for (const ObjectInfo& object : page->objects) found.push_back(object.key);
      if (!page->more) break;
      REQUIRE(!page->objects.empty());
      after = found.back();
    }
    CHECK(found == keys);
  }

  void Refusals() {
    for (const std::string& key :
         {std::string(), home_, "/" + home_ + "x", home_ + "../x", home_ + ".hidden", home_ + "a:b", home_ + "a//b",
          home_ + "a b", home_ + "a%2eb", home_ + "a\nb", std::string(2000, 'x')}) {
      INFO("the key ", key);
      CHECK_FAILS(remote_->Read(key, 0, 1), ErrorKind::kRefused, "");
      CHECK_FAILS(remote_->Stat(key), ErrorKind::kRefused, "");
      CHECK_FAILS(writer_->Write(key, MemorySource(AsBytes("x")), WriteRule::kReplace), ErrorKind::kRefused, "");
      CHECK_FAILS(writer_->Remove(key), ErrorKind::kRefused, "");
    }
  }

  const ContractTraits traits_;
  const OpenForTest& open_writer_;
  const std::unique_ptr<Remote> remote_, writer_;
  const std::string home_;
  std::set<std::string> created_;
};

}  // namespace

void CheckContract(const OpenForTest& open, const ContractTraits& traits, const OpenForTest& open_writer) {
  Contract(open, traits, open_writer).Run();
}

}  // namespace wdelta
