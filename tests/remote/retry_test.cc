#include "remote/retry.h"

#include "core/parallel.h"
#include "support/expect.h"
#include "support/faulty_remote.h"
#include "support/memory_remote.h"

namespace wdelta {
namespace {

// A remote in memory with the given faults, with retries whose pauses are written down and not waited for.
struct Rig {
  explicit Rig(std::vector<Fault> faults, unsigned retries = 8) {
    RetryPace pace;
    pace.wait = [this](double seconds) {
      pauses.push_back(seconds);
      return Result<>();
    };
    pace.fraction = [] { return 1.0; };
    remote = WithRetries(WithFaults(OpenMemoryRemote(store), InOrder(std::move(faults))),
                         TransferOptions{.retries = retries},
                         Context{.note = [this](const std::string& note) { notes.push_back(note); }}, pace);
  }
  Result<WriteResult> Write(std::string_view text, WriteRule rule = WriteRule::kIfAbsent) {
    return remote->Write("k", MemorySource(AsBytes(text)), rule);
  }
  Result<WriteResult> Replace(std::string_view text, const std::string& version) {
    return remote->Write("k", MemorySource(AsBytes(text)), WriteRule::kIfVersion, version);
  }
  // Past the faults; the version that it has now.
  std::string Put(std::string_view text) {
    const ByteSpan bytes = AsBytes(text);
    store->Put("k", {bytes.begin(), bytes.end()});
    return std::to_string(store->Objects().at("k").version);
  }
  std::string Content() { return std::string(AsText(store->Objects().at("k").bytes)); }

  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  std::vector<double> pauses;
  std::vector<std::string> notes;
  std::unique_ptr<Remote> remote;
};

std::vector<Fault> Times(size_t count, Fault fault) {
  return std::vector<Fault>(count, fault);
}

TEST_CASE("passing trouble is waited out with pauses that double up to a limit") {
  Rig rig(Times(10, Fault::kFail), 10);
  rig.store->Put("k", {1, 2, 3});
  const auto piece = rig.remote->Read("k", 0, 10);
  REQUIRE_OK(piece);
  CHECK(piece->bytes == Bytes{1, 2, 3});
  REQUIRE(rig.pauses.size() == 10);
  CHECK(rig.pauses[0] == doctest::Approx(0.1));
  CHECK(rig.pauses[1] == doctest::Approx(0.2));
  CHECK(rig.pauses[6] == doctest::Approx(6.4));
  CHECK(rig.pauses[8] == doctest::Approx(20));
  CHECK(rig.pauses[9] == doctest::Approx(20));
  CHECK(rig.remote->retries() == 10);
  REQUIRE(rig.notes.size() == 10);
  CHECK(rig.notes[0] == "retrying after: injected: no connection");
}

TEST_CASE("a pause is a random part of its length") {
  const auto store = std::make_shared<MemoryStore>();
  std::vector<double> pauses;
  RetryPace pace;
  pace.wait = [&](double seconds) {
    pauses.push_back(seconds);
    return Result<>();
  };
  const auto remote = WithRetries(WithFaults(OpenMemoryRemote(store), InOrder(Times(50, Fault::kFail))),
                                  TransferOptions{.retries = 50}, {}, pace);
  REQUIRE_OK(remote->Stat("k"));
  unsigned below_half = 0;
  for (size_t i = 8; i < pauses.size(); ++i) {
    CHECK(pauses[i] >= 0);
    CHECK(pauses[i] < 20);
    below_half += pauses[i] < 10;
  }
  CHECK(below_half > 0);
  CHECK(below_half < 42);
}

TEST_CASE("trouble that does not pass is an error after as many attempts as were asked for") {
  for (const unsigned retries : {0U, 3U}) {
    Rig rig(Times(100, Fault::kFail), retries);
    CHECK_FAILS(rig.remote->Stat("k"), ErrorKind::kTransient, "no connection");
    CHECK(rig.pauses.size() == retries);
    CHECK(rig.store->Calls() == 0);
  }
}

TEST_CASE("every method is repeated") {
  Rig rig({});
  const auto failing = [&] {
    RetryPace pace;
    pace.wait = [](double) { return Result<>(); };
    return WithRetries(WithFaults(OpenMemoryRemote(rig.store), InOrder(Times(2, Fault::kFail))), {}, {}, pace);
  };
  REQUIRE_OK(failing()->Write("k", MemorySource(AsBytes("x")), WriteRule::kReplace));
  REQUIRE_OK(failing()->Read("k", 0, 1));
  const auto info = failing()->Stat("k");
  REQUIRE_OK(info);
  CHECK(info->has_value());
  const auto page = failing()->List("", "", 10);
  REQUIRE_OK(page);
  CHECK(page->objects.size() == 1);
  REQUIRE_OK(failing()->Remove("k"));
  CHECK(rig.store->Objects().empty());
}

TEST_CASE("what will not pass is not repeated") {
  Rig rig({});
  CHECK_FAILS(rig.remote->Read("nothing", 0, 1), ErrorKind::kNotFound, "nothing");
  CHECK_FAILS(rig.remote->Read("No Key", 0, 1), ErrorKind::kRefused, "No Key");
  rig.store->Put("k", {1});
  CHECK_FAILS(rig.remote->Read("k", 0, 1, "another version"), ErrorKind::kConflict, "changed");
  CHECK(rig.pauses.empty());
  CHECK(rig.remote->retries() == 0);
}

TEST_CASE("a read that was cut short is repeated") {
  Rig rig({Fault::kCutShort, Fault::kCutShort});
  rig.store->Put("k", {1, 2, 3, 4});
  const auto piece = rig.remote->Read("k", 1, 10);
  REQUIRE_OK(piece);
  CHECK(piece->bytes == Bytes{2, 3, 4});
  CHECK(rig.remote->retries() == 2);
  Rig always(Times(9, Fault::kCutShort));
  always.store->Put("k", {1, 2, 3, 4});
  CHECK_FAILS(always.remote->Read("k", 0, 4), ErrorKind::kTransient, "came with 2 bytes, expected 4");
}

TEST_CASE("a conditional write whose answer was lost is found to be ours") {
  Rig rig({Fault::kLoseAnswer});
  const auto result = rig.Write("by me");
  REQUIRE_OK(result);
  CHECK(*result == WriteResult::kWritten);
  CHECK(rig.Content() == "by me");
  CHECK(rig.store->Calls("write") == 2);
}

TEST_CASE("a conditional write that failed while somebody else created the object is theirs") {
  for (const char* theirs : {"by you", "by somebody", ""}) {
    Rig rig({Fault::kFail});
    const ByteSpan bytes = AsBytes(theirs);
    rig.store->Put("k", {bytes.begin(), bytes.end()});
    const auto result = rig.Write("by  me");
    REQUIRE_OK(result);
    CHECK(*result == WriteResult::kExists);
    CHECK(rig.Content() == theirs);
  }
}

TEST_CASE("an object that was there at the first attempt is not read back") {
  Rig rig({});
  rig.store->Put("k", {'x'});
  const auto result = rig.Write("x");
  REQUIRE_OK(result);
  CHECK(*result == WriteResult::kExists);
  CHECK(rig.store->Calls("read") == 0);
}

TEST_CASE("when no answer comes at all, what is there decides") {
  SUBCASE("ours") {
    Rig rig({Fault::kLoseAnswer, Fault::kFail, Fault::kFail}, 2);
    const auto result = rig.Write("by me");
    REQUIRE_OK(result);
    CHECK(*result == WriteResult::kWritten);
  }
  SUBCASE("theirs") {
    Rig rig(Times(3, Fault::kFail), 2);
    rig.store->Put("k", {'x'});
    const auto result = rig.Write("by me");
    REQUIRE_OK(result);
    CHECK(*result == WriteResult::kExists);
  }
  SUBCASE("nothing") {
    Rig rig(Times(3, Fault::kFail), 2);
    CHECK_FAILS(rig.Write("by me"), ErrorKind::kTransient, "no connection");
  }
  SUBCASE("nobody can tell") {
    Rig rig(Times(100, Fault::kFail), 2);
    CHECK_FAILS(rig.Write("by me"), ErrorKind::kTransient, "no connection");
  }
}

TEST_CASE("a large object is compared to its last byte, and an empty one too") {
  Bytes large((2 << 20) + 5, 7);
  for (const bool same : {true, false}) {
    Rig rig({Fault::kFail});
    Bytes theirs = large;
    if (!same) theirs.back() ^= 1;
    rig.store->Put("k", theirs);
    const auto result = rig.remote->Write("k", MemorySource(large), WriteRule::kIfAbsent);
    REQUIRE_OK(result);
    CHECK(*result == (same ? WriteResult::kWritten : WriteResult::kExists));
    CHECK(rig.store->Calls("read") == (same ? 3 : 4));  // what differs is read once more
  }
  Rig empty({Fault::kLoseAnswer});
  const auto result = empty.Write("");
  REQUIRE_OK(result);
  CHECK(*result == WriteResult::kWritten);
}

TEST_CASE("a replacement of a version whose answer was lost is found to be ours") {
  Rig rig({Fault::kLoseAnswer});
  const auto result = rig.Replace("by me", rig.Put("before"));
  REQUIRE_OK(result);
  CHECK(*result == WriteResult::kWritten);
  CHECK(rig.Content() == "by me");
  CHECK(rig.store->Calls("write") == 2);
  CHECK(rig.store->Calls("read") == 1);
}

TEST_CASE("a replacement of a version that failed while somebody else was faster is theirs") {
  for (const char* theirs : {"by you", "by somebody", ""}) {
    Rig rig({Fault::kFail});
    const std::string before = rig.Put("before");
    rig.Put(theirs);
    const auto result = rig.Replace("by  me", before);
    REQUIRE_OK(result);
    CHECK(*result == WriteResult::kChanged);
    CHECK(rig.Content() == theirs);
  }
  Rig rig({Fault::kFail});
  const std::string before = rig.Put("before");
  rig.store->Erase("k");
  const auto gone = rig.Replace("by me", before);
  REQUIRE_OK(gone);
  CHECK(*gone == WriteResult::kChanged);
  CHECK(rig.store->Objects().empty());
}

TEST_CASE("an object that was another at the first attempt to replace it is not read back") {
  Rig rig({});
  const std::string before = rig.Put("x");
  rig.Put("x");
  const auto result = rig.Replace("x", before);
  REQUIRE_OK(result);
  CHECK(*result == WriteResult::kChanged);
  CHECK(rig.store->Calls("read") == 0);
}

TEST_CASE("when no answer comes to a replacement at all, what is there decides") {
  SUBCASE("ours") {
    Rig rig({Fault::kLoseAnswer, Fault::kFail, Fault::kFail}, 2);
    const auto result = rig.Replace("by me", rig.Put("before"));
    REQUIRE_OK(result);
    CHECK(*result == WriteResult::kWritten);
  }
  SUBCASE("theirs") {
    Rig rig(Times(3, Fault::kFail), 2);
    const std::string before = rig.Put("before");
    rig.Put("by you");
    const auto result = rig.Replace("by me", before);
    REQUIRE_OK(result);
    CHECK(*result == WriteResult::kChanged);
  }
  SUBCASE("what was there before, so that nobody has won") {
    Rig rig(Times(3, Fault::kFail), 2);
    CHECK_FAILS(rig.Replace("by me", rig.Put("before")), ErrorKind::kTransient, "no connection");
    CHECK(rig.Content() == "before");
  }
  SUBCASE("nothing any more") {
    Rig rig(Times(3, Fault::kFail), 2);
    const std::string before = rig.Put("before");
    rig.store->Erase("k");
    const auto result = rig.Replace("by me", before);
    REQUIRE_OK(result);
    CHECK(*result == WriteResult::kChanged);
  }
  SUBCASE("nobody can tell") {
    Rig rig(Times(100, Fault::kFail), 2);
    CHECK_FAILS(rig.Replace("by me", rig.Put("before")), ErrorKind::kTransient, "no connection");
  }
}

TEST_CASE("a replacing write is simply repeated") {
  Rig rig({Fault::kLoseAnswer, Fault::kFail});
  const auto result = rig.Write("new", WriteRule::kReplace);
  REQUIRE_OK(result);
  CHECK(*result == WriteResult::kWritten);
  CHECK(rig.store->Calls("read") == 0);
}

TEST_CASE("a stop during a pause ends the call") {
  const auto store = std::make_shared<MemoryStore>();
  RetryPace pace;
  pace.wait = [](double) { return Result<>(Error{ErrorKind::kInterrupted, "interrupted"}); };
  const auto remote =
      WithRetries(WithFaults(OpenMemoryRemote(store), InOrder({Fault::kFail})), TransferOptions{}, {}, pace);
  CHECK_FAILS(remote->Stat("k"), ErrorKind::kInterrupted, "interrupted");
  CHECK(remote->retries() == 0);
}

TEST_CASE("a conditional write whose answer was lost is ours, also if it is damaged while it is read back") {
  Rig rig({Fault::kLoseAnswer, Fault::kNone, Fault::kFlipBit});
  const auto written = rig.Write("ours");
  REQUIRE_OK(written);
  CHECK(*written == WriteResult::kWritten);
  CHECK(rig.Content() == "ours");
}

TEST_CASE("a store that asks for a pause gets it, up to a minute, and a random part of the usual one on top") {
  // Fails as often as it is told how long to ask for, then works.
  class Busy final : public Remote {
   public:
    explicit Busy(std::vector<double> asked) : asked_(std::move(asked)) {}
    const std::string& url() const override { return url_; }
    Result<ObjectPiece> Read(const std::string&, uint64_t, uint64_t, const std::string&) override {
      return ObjectPiece{};
    }
    Result<WriteResult> Write(const std::string&, const ByteSource&, WriteRule, const std::string&) override {
      return WriteResult::kWritten;
    }
    Result<std::optional<ObjectInfo>> Stat(const std::string&) override {
      if (at_ == asked_.size()) return std::optional<ObjectInfo>();
      Error error{ErrorKind::kTransient, "busy"};
      error.retry_after = asked_[at_++];
      return error;
    }
    Result<ObjectPage> List(const std::string&, const std::string&, unsigned) override { return ObjectPage{}; }
    Result<> Remove(const std::string&) override { return {}; }

   private:
    const std::string url_ = "busy://";
    const std::vector<double> asked_;
    size_t at_ = 0;
  };
  std::vector<double> pauses;
  RetryPace pace;
  pace.wait = [&](double seconds) {
    pauses.push_back(seconds);
    return Result<>();
  };
  pace.fraction = [] { return 0.5; };
  const auto remote = WithRetries(std::make_unique<Busy>(std::vector<double>{7, 0, 86400, -3}), {}, {}, pace);
  REQUIRE_OK(remote->Stat("k"));
  REQUIRE(pauses.size() == 4);
  CHECK(pauses[0] == doctest::Approx(7 + 0.05));
  CHECK(pauses[1] == doctest::Approx(0.1));
  CHECK(pauses[2] == doctest::Approx(60 + 0.2));
  CHECK(pauses[3] == doctest::Approx(0.4));
}

TEST_CASE("a removal that a stop finds in a pause is tried once more, at once") {
  const auto store = std::make_shared<MemoryStore>();
  const std::string text = "x";
  REQUIRE_OK(OpenMemoryRemote(store)->Write("k", MemorySource(AsBytes(text)), WriteRule::kReplace));
  const StopSource source;
  bool failed = false;
  const auto once = [&](std::string_view, const std::string&) {
    source.Request();
    return std::exchange(failed, true) ? Fault::kNone : Fault::kFail;
  };
  const auto remote =
      WithRetries(WithFaults(OpenMemoryRemote(store, source.token()), once), {}, Context{.stop = source.token()});
  REQUIRE_OK(remote->Remove("k"));
  CHECK(store->Objects().empty());
}

TEST_CASE("a stop ends a pause of the ordinary pace, of the remote that has its token") {
  const StopSource source;
  const auto stopping = [&](std::string_view, const std::string&) {
    source.Request();
    return Fault::kFail;
  };
  const auto open = [&](const StopToken& stop) {
    return WithRetries(WithFaults(OpenMemoryRemote(std::make_shared<MemoryStore>()), stopping),
                       TransferOptions{.retries = 1}, Context{.stop = stop});
  };
  const auto remote = open(source.token());
  CHECK_FAILS(remote->Stat("k"), ErrorKind::kInterrupted, "interrupted");
  CHECK(remote->retries() == 0);
  const auto other = open(StopSource().token());
  CHECK_FAILS(other->Stat("k"), ErrorKind::kTransient, "");
  CHECK(other->retries() == 1);
}

}  // namespace
}  // namespace wdelta
