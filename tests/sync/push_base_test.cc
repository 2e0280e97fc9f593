#include "sync/push_base.h"

#include "support/pushed_run.h"
#include "walk/rebuild.h"
#include "walk/walk.h"

namespace wdelta {

namespace {

// What a push of model "next" would be computed against.
Result<std::string> Choose(const PushedRun& run, PushOptions options) {
  run.WriteModel("next", 77);
  options.source = run.folder / "next";
  Session session = run.Open();
  WD_ASSIGN(PusherState home, PusherState::Open(options.source, session.url(), options.mirror, 0, {}));
  WD_ASSIGN(const Checkpoint source, Checkpoint::Open(options.source, {}, run.context.note));
  WD_ASSIGN(const uint64_t tip, session.history().FindTip());
  std::shared_ptr<const Record> record;
  if (tip > 0) {
    WD_ASSIGN(record, session.history().Read(tip));
  }
  return PushBase(options, home, session, run.context).Choose(record.get(), source);
}

Sha256Digest StateOf(const std::string& path) {
  const auto checkpoint = Checkpoint::Open(path, {}, [](const std::string&) {});
  REQUIRE_OK(checkpoint);
  return ProveCheckpoint(*checkpoint, {})->state();
}

}  // namespace

TEST_CASE("the first push of a history has no base, and needs none") {
  const PushedRun run;
  const auto chosen = Choose(run, {});
  REQUIRE_OK(chosen);
  CHECK(chosen->empty());
}

TEST_CASE("the checkpoint of the last push is the base of the next one") {
  const PushedRun run;
  run.PushMany(2);
  const auto chosen = Choose(run, {});
  REQUIRE_OK(chosen);
  CHECK(StateOf(*chosen) == StateOf(run.folder / "2"));
}

TEST_CASE("without a base the push names the ways out, and takes the one that was asked for") {
  const PushedRun run;
  run.WriteModel("1", 1);
  REQUIRE_OK(run.Push({.source = "1", .keep_base = KeepBase::kOff}));
  CHECK_FAILS(Choose(run, {}), ErrorKind::kConflict, "no base for record 2");
  const auto anchor = Choose(run, {.anchor = true});
  REQUIRE_OK(anchor);
  CHECK(anchor->empty());
  const auto rebased = Choose(run, {.rebase = true});  // all of it comes from the store
  REQUIRE_OK(rebased);
  CHECK(StateOf(*rebased) == StateOf(run.folder / "1"));
}

TEST_CASE("what others pushed since is applied to the base, from an anchor if a delta is gone") {
  for (const bool gone : {false, true}) {
    const PushedRun run;
    run.PushMany(1);
    run.WriteModel("elsewhere/2", 2);
    run.WriteModel("elsewhere/3", 3);
    REQUIRE_OK(run.Push({.source = "elsewhere/2", .base = run.folder / "1"}));
    REQUIRE_OK(run.Push({.source = "elsewhere/3", .base = run.folder / "elsewhere/2", .anchor_every = 2}));
    CHECK_FAILS(Choose(run, {}), ErrorKind::kConflict, "has a newer record");
    if (gone) run.store->Erase(run.ObjectOf(2));
    run.counts->Forget();
    const auto chosen = Choose(run, {.rebase = true});
    REQUIRE_OK(chosen);
    CHECK(StateOf(*chosen) == StateOf(run.folder / "elsewhere/3"));
    CHECK(run.Noted("the pack of record 2 has been removed from the store") == gone);
  }
}

TEST_CASE("a mirror is filled by the first push, follows the others, and is refused for an empty history") {
  const PushedRun run;
  const std::string mirror = run.folder / "mirror";
  run.WriteModel("1", 1);
  run.WriteModel("2", 2);
  for (const char* name : {"1", "2"}) {
    REQUIRE_OK(run.Push({.source = name, .mirror = mirror}));
    CHECK(StateOf(mirror) == StateOf(run.folder / name));
  }
  const auto chosen = Choose(run, {.mirror = mirror});
  REQUIRE_OK(chosen);
  CHECK(*chosen == mirror);
  const PushedRun other;
  CHECK_FAILS(Choose(other, {.mirror = mirror}), ErrorKind::kConflict, "is empty, but the mirror");
}

}  // namespace wdelta
