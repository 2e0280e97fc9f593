// Following the versions of another system in a store in memory.
#include "canonical/canonical_lineage.h"

#include "core/file_counts.h"
#include "support/expect.h"
#include "support/stored_run.h"
#include "sync/follower.h"

namespace wdelta {
namespace {

class Stand {
 public:
  Result<FollowReport> Follow(FollowOptions options = {}, uint64_t version = 0) {
    notes.clear();
    Context context{.threads = 2};
    context.note = [this](const std::string& note) { notes += note + "\n"; };
    if (version > 0) {
      options.wish.named = true;
      options.wish.revision = {Revision::Kind::kNumber, version, ""};
    }
    WD_ASSIGN(Replica replica, Replica::Open(run.folder() / "r", 0, {}));
    const auto lineage = VersionsAsLineage(run.remote(), replica.PacksPath(), 1, context);
    return FollowLineage(*lineage, replica, options, context);
  }
  void ExpectStep(uint16_t step) const {
    const Tree found = run.folder().TreeOf("r/current");
    CHECK_MESSAGE(found == run.TreeOfStep(step), Names(found));
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

TEST_CASE("a delta is followed by reading the model once and writing it once") {
  Stand stand;
  stand.run.Publish(1, true);
  REQUIRE_OK(stand.Follow());
  stand.run.Publish(2, false);
  const uint64_t model = stand.run.model_bytes();
  FileCounts counts;
  REQUIRE_OK(stand.Follow());
  CHECK(counts.Of("/versions/1-").read < model + model / 10);
  CHECK(counts.Of("/.wdelta/.new.").written < model + model / 10);
  CHECK(counts.Of("/.wdelta-apply").written == 0);
  stand.ExpectStep(2);
}

TEST_CASE("in place a delta is followed by reading the model at most twice") {
  Stand stand;
  stand.run.Publish(1, true);
  REQUIRE_OK(stand.Follow(kInPlace));
  stand.run.Publish(2, false);
  FileCounts counts;
  REQUIRE_OK(stand.Follow(kInPlace));
  CHECK(counts.Of("/versions/1-").read <= 2 * stand.run.model_bytes() + 10'000);
  stand.ExpectStep(2);
}

TEST_CASE("a whole version is read once in an empty folder, and with deltas after it twice") {
  Stand stand;
  stand.run.Publish(1, true);
  const uint64_t model = stand.run.model_bytes();
  {
    FileCounts counts;
    REQUIRE_OK(stand.Follow());
    CHECK(counts.Of("safetensors").read < model + model / 10);
    stand.ExpectStep(1);
  }
  stand.run.Publish(2, false);
  stand.run.folder().Remove("r");
  FileCounts counts;
  REQUIRE_OK(stand.Follow());
  CHECK(counts.Of("safetensors").read < 2 * model + model / 10);
  stand.ExpectStep(2);
}

TEST_CASE("nothing new takes one request and reads no weights") {
  Stand stand;
  stand.run.Publish(1, true);
  REQUIRE_OK(stand.Follow());
  stand.run.store().ForgetCalls();
  FileCounts counts;
  const Result<FollowReport> report = stand.Follow();
  REQUIRE_OK(report);
  CHECK(report->up_to_date);
  CHECK(stand.run.store().Calls() == 1);
  CHECK(counts.Of("safetensors").read == 0);
}

TEST_CASE("a whole version in between is advanced beside the current copy, and neither is copied again") {
  Stand stand;
  stand.run.Publish(1, true);
  REQUIRE_OK(stand.Follow());
  stand.run.Publish(2, true);
  stand.run.Publish(3, false);
  for (const char* mode : {"copies", "in place"}) {
    const FollowOptions options = *mode == 'i' ? kInPlace : FollowOptions{};
    const Result<FollowReport> report = stand.Follow(options);
    REQUIRE_OK(report);
    CHECK(stand.run.folder().TreeOf("r/.wdelta/packs").empty());
    stand.ExpectStep(3);
    stand.run.folder().Remove("r");
    REQUIRE_OK(stand.Follow({}, 1));
  }
}

TEST_CASE("a kept copy is read before it becomes current, and one that was changed is built from something else") {
  Stand stand;
  stand.run.Publish(1, true);
  REQUIRE_OK(stand.Follow());
  stand.run.Publish(2, false);
  const Result<FollowReport> second = stand.Follow();
  REQUIRE_OK(second);
  for (const auto& [name, content] : stand.run.folder().TreeOf("r/versions")) {
    if (name.starts_with("1-") && name.ends_with("/m-1.safetensors")) stand.Flip("r/versions/" + name);
  }
  REQUIRE_OK(stand.Follow({}, 1));
  CHECK(stand.notes.find("building from something else") != std::string::npos);
  stand.ExpectStep(1);
}

TEST_CASE("a copy that was half patched when a pull was killed is never taken for what it was") {
  for (const uint64_t version : {1, 2, 3}) {
    for (const bool in_place : {false, true}) {
      CAPTURE(version);
      CAPTURE(in_place);
      Stand stand;
      stand.run.Publish(1, true);
      REQUIRE_OK(stand.Follow(kInPlace));
      stand.run.Publish(2, false);
      stand.run.Publish(3, false);
      {
        Result<Replica> replica = Replica::Open(stand.run.folder() / "r", 0, {});
        REQUIRE_OK(replica);
        const ReplicaCopy copy = *replica->current();
        REQUIRE_OK(replica->BeginPatching(copy));
        stand.run.folder().Write("r/versions/" + copy.name + "/m-1.safetensors",
                                 stand.run.TreeOfStep(2).at("m-1.safetensors"));
      }
      REQUIRE_OK(stand.Follow(in_place ? kInPlace : FollowOptions{}, version));
      stand.ExpectStep(static_cast<uint16_t>(version));
    }
  }
}

TEST_CASE("a damaged delta is fetched again, and the folder stays as it was") {
  Stand stand;
  stand.run.Publish(1, true);
  REQUIRE_OK(stand.Follow());
  stand.run.Publish(2, false);
  for (const auto& [key, object] : stand.run.store().Objects()) {
    if (key.find("000002") == std::string::npos || !key.ends_with(".safetensors")) continue;
    Bytes bytes = object.bytes;
    bytes[bytes.size() - 20] ^= 1;
    stand.run.store().Put(key, bytes);
  }
  CHECK_FALSE(stand.Follow().ok());
  stand.ExpectStep(1);
}

}  // namespace
}  // namespace wdelta
