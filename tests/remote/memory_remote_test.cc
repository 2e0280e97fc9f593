// The store that other tests lean on keeps the contract itself, plain and when things go wrong around it.
#include "support/memory_remote.h"

#include "remote/contract.h"
#include "support/expect.h"
#include "support/faulty_remote.h"

namespace wdelta {
namespace {

TEST_CASE("a store in memory keeps the contract of a remote") {
  const auto store = std::make_shared<MemoryStore>();
  CheckContract([&] { return OpenMemoryRemote(store); });
  CHECK(store->Objects().empty());
}

TEST_CASE("a store in memory behind faults keeps the contract when retries are around them") {
  const auto store = std::make_shared<MemoryStore>();
  uint64_t seed = 0;
  CheckContract([&] { return BehindFaults(OpenMemoryRemote(store), ++seed); });
  CHECK(store->Objects().empty());
}

TEST_CASE("each fault does what its name says") {
  const auto store = std::make_shared<MemoryStore>();
  const auto with = [&](Fault fault) { return WithFaults(OpenMemoryRemote(store), InOrder({fault})); };
  const MemorySource old_bytes(AsBytes("old bytes")), new_bytes(AsBytes("new bytes"));
  const auto content = [&] {
    const auto piece = OpenMemoryRemote(store)->Read("k", 0, 100);
    return piece.ok() ? std::string(AsText(piece->bytes)) : "nothing";
  };
  CHECK_FAILS(with(Fault::kFail)->Write("k", old_bytes, WriteRule::kReplace), ErrorKind::kTransient, "no connection");
  CHECK(content() == "nothing");
  CHECK_FAILS(with(Fault::kLoseAnswer)->Write("k", old_bytes, WriteRule::kIfAbsent), ErrorKind::kTransient, "lost");
  CHECK(content() == "old bytes");
  const auto ignored = with(Fault::kIgnoreCondition)->Write("k", new_bytes, WriteRule::kIfAbsent);
  REQUIRE_OK(ignored);
  CHECK(*ignored == WriteResult::kWritten);
  CHECK(content() == "new bytes");
  const auto stale = with(Fault::kIgnoreCondition)->Write("k", new_bytes, WriteRule::kIfEtag, "no version of it");
  REQUIRE_OK(stale);
  CHECK(*stale == WriteResult::kWritten);
  const auto cut = with(Fault::kCutShort)->Read("k", 0, 100);
  REQUIRE_OK(cut);
  CHECK(AsText(cut->bytes) == "new ");
  CHECK(cut->size == 9);
  const auto flipped = with(Fault::kFlipBit)->Read("k", 0, 100);
  REQUIRE_OK(flipped);
  CHECK(AsText(flipped->bytes) == "new rytes");
  const auto late = with(Fault::kDelay)->Read("k", 0, 100);
  REQUIRE_OK(late);
  CHECK(AsText(late->bytes) == "new bytes");
}

TEST_CASE("a store in memory counts calls and lets a test set its clock") {
  const auto store = std::make_shared<MemoryStore>();
  store->SetClock([] { return int64_t{1000}; });
  const auto one = OpenMemoryRemote(store), other = OpenMemoryRemote(store);
  REQUIRE_OK(one->Write("k", MemorySource(AsBytes("x")), WriteRule::kReplace));
  REQUIRE_OK(other->Read("k", 0, 1));
  REQUIRE_OK(other->Read("k", 0, 1));
  const auto page = other->List("", "", 10);
  REQUIRE_OK(page);
  CHECK(page->now == 1000);
  CHECK(page->objects[0].modified == 1000);
  CHECK(store->Calls("write") == 1);
  CHECK(store->Calls("read") == 2);
  CHECK(store->Calls() == 4);
}

}  // namespace
TEST_CASE("what comes damaged out of a store in memory is found where it is used") {
  const auto store = std::make_shared<MemoryStore>();
  const auto open = [&] { return OpenMemoryRemote(store); };
  CheckDamageIsFound(open, open);
  CHECK(store->Objects().empty());
}

}  // namespace wdelta
