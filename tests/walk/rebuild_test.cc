// One walk from a target into a sink, and the proof that comes back.
#include "walk/rebuild.h"

#include <atomic>

#include "support/expect.h"
#include "support/random_checkpoint.h"
#include "walk/chain.h"
#include "wdelta.h"

namespace wdelta {
namespace {

MadeCheckpoint Model(uint16_t step) {
  MadeCheckpoint made{.shards = {{"m.safetensors", {Ramp("w", 1'300'000)}, {}, 0}}};  // three blocks
  for (size_t at = 0; at < made.shards[0].tensors[0].data.size(); at += 500'000) {
    Store(made.shards[0].tensors[0].data.data() + at, step);
  }
  made.companions = {{"config.json", std::to_string(step)}};
  return made;
}

struct Pair {
  Pair() {
    WriteCheckpoint(folder, "base", Model(1));
    WriteCheckpoint(folder, "next", Model(2));
    REQUIRE_OK(Pack({.inputs = {folder / "base", folder / "next"}, .output = folder / "d.wdp"}, {}));
  }
  Result<OpenedTarget> Open(const std::string& base) const {
    return OpenPacks(folder / base, {folder / "d.wdp"}, {}, Trust::kWhole, {});
  }
  Proof Prove(const std::string& name) const {
    const auto checkpoint = Checkpoint::Open(folder / name, {}, [](const std::string&) {});
    REQUIRE_OK(checkpoint);
    const auto proof = ProveCheckpoint(*checkpoint, {});
    REQUIRE_OK(proof);
    return *proof;
  }
  const ScratchFolder folder;
};

// Counts what it is told, and fails where it should.
class CountingSink final : public Sink {
 public:
  const std::string& path() const override { return path_; }
  Result<> Begin() override { return ++begun, Result<>(); }
  Result<> WriteFile(size_t, uint64_t, ByteSpan) override { return ++files, Result<>(); }
  Result<> Take(const Tensor&, const LoadedBlock&, WalkScratch&, WalkedBlock&) override { return ++taken, Result<>(); }
  Result<> Put(const Tensor&, const WalkedBlock&) override {
    if (++put == fails_at) return Error{ErrorKind::kLocalIo, "the sink is full"};
    return {};
  }
  Result<> Commit(bool is_changed) override { return ++committed, changed = is_changed, Result<>(); }

  std::atomic<int> taken = 0;
  int begun = 0, files = 0, put = 0, committed = 0, fails_at = 0;
  bool changed = false;

 private:
  std::string path_ = "nowhere";
};

TEST_CASE("a sink gets every block once, in order, and is committed once with what changed") {
  const Pair pair;
  for (const unsigned threads : {1u, 4u}) {
    const auto opened = pair.Open("base");
    REQUIRE_OK(opened);
    CountingSink sink;
    const auto rebuilt = Rebuild(*opened, sink, {.threads = threads});
    REQUIRE_OK(rebuilt);
    CHECK(sink.taken == 3);
    CHECK(sink.put == 3);
    CHECK(sink.files == 2);
    CHECK(sink.begun == 1);
    CHECK(sink.committed == 1);
    CHECK(sink.changed);
    CHECK(rebuilt->proof.path() == "nowhere");
    CHECK(rebuilt->proof.state() == pair.Prove("next").state());
    CHECK(rebuilt->base.state == pair.Prove("base").state());
    CHECK(rebuilt->totals.elements_changed == 6);
    CHECK_FALSE(rebuilt->already_applied);
  }
}

TEST_CASE("a sink that fails is not committed, and its error is that of the walk") {
  const Pair pair;
  for (int fails_at = 1; fails_at <= 3; ++fails_at) {
    const auto opened = pair.Open("base");
    REQUIRE_OK(opened);
    CountingSink sink;
    sink.fails_at = fails_at;
    CHECK_FAILS(Rebuild(*opened, sink, {.threads = 2}), ErrorKind::kLocalIo, "the sink is full");
    CHECK(sink.committed == 0);
  }
}

TEST_CASE("a delta that is applied already is walked as well, and proved") {
  const Pair pair;
  const auto opened = pair.Open("next");
  REQUIRE_OK(opened);
  CountingSink sink;
  const auto rebuilt = Rebuild(*opened, sink, {});
  REQUIRE_OK(rebuilt);
  CHECK(rebuilt->already_applied);
  CHECK_FALSE(sink.changed);
  CHECK(rebuilt->proof.state() == pair.Prove("next").state());
}

TEST_CASE("a copy is proved where it lies, and is the same as what a verification says") {
  const Pair pair;
  const auto opened = pair.Open("base");
  REQUIRE_OK(opened);
  const auto rebuilt = RebuildCopy(*opened, pair.folder / "copy", false, {});
  REQUIRE_OK(rebuilt);
  CHECK(rebuilt->proof.path() == pair.folder / "copy");
  CHECK(pair.folder.TreeOf("copy") == pair.folder.TreeOf("next"));
  const auto again = pair.Open("base");
  REQUIRE_OK(again);
  CHECK(VerifyTarget(*again, {})->state == rebuilt->proof.state());
}

TEST_CASE("a wrong base gives no proof and leaves nothing behind") {
  const Pair pair;
  std::string content = pair.folder.Read("base/m.safetensors");
  content.back() = static_cast<char>(content.back() ^ 1);
  pair.folder.Write("base/m.safetensors", content);
  const auto opened = pair.Open("base");
  REQUIRE_OK(opened);
  CHECK_FAILS(RebuildCopy(*opened, pair.folder / "copy", false, {}), ErrorKind::kConflict, "");
  CHECK_FALSE(pair.folder.Exists("copy"));
}

}  // namespace
}  // namespace wdelta
