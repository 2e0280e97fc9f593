#include "sync/session.h"

#include "support/expect.h"
#include "support/made_history.h"
#include "support/memory_remote.h"
#include "support/scratch_folder.h"

namespace wdelta {

TEST_CASE("a session knows its remote, and the record that was asked for") {
  const ScratchFolder folder;
  const auto plain = Session::Open("file://" + folder.path(), {.jobs = 3}, {});
  REQUIRE_OK(plain);
  CHECK(plain->url() == "file://" + folder.path());
  CHECK(plain->jobs() == 3);
  CHECK_FALSE(plain->named());
  const auto named = Session::Open("file://" + folder.path() + "@step:95", {}, {});
  REQUIRE_OK(named);
  CHECK(named->named());
  CHECK(named->revision().kind == Revision::Kind::kStep);
  CHECK(named->url() == "file://" + folder.path());
}

TEST_CASE("what is about a whole history takes no revision, and a name that cannot be is refused") {
  const ScratchFolder folder;
  CHECK_FAILS(Session::OpenWhole("file://" + folder.path() + "@3", {}, {}, "not there"), ErrorKind::kUsage,
              "not there");
  REQUIRE_OK(Session::OpenWhole("file://" + folder.path(), {}, {}, "not there"));
  CHECK_FAILS(Session::Open("gopher://x", {}, {}), ErrorKind::kUsage, "begins with");
}

TEST_CASE("a session reads every record once, and finds the end once") {
  const auto store = std::make_shared<MemoryStore>();
  for (const Record& record : MadeHistory(20)) {
    const std::string text = RecordText(record);
    store->Put(RecordKey(record.entry.number), Bytes(text.begin(), text.end()));
  }
  Session session(OpenMemoryRemote(store), 0, {.kind = Revision::Kind::kHead, .value = 1}, true);
  const auto entry = session.Resolve();
  REQUIRE_OK(entry);
  CHECK(entry->number == 19);
  store->ForgetCalls();
  REQUIRE_OK(session.Resolve());
  REQUIRE_OK(session.history().Read(20));
  CHECK(store->Calls() == 0);
  Session moved = std::move(session);
  REQUIRE_OK(moved.Resolve());
  CHECK(store->Calls() == 0);
}

}  // namespace wdelta
