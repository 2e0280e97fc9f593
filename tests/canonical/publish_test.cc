#include "canonical/publish.h"

#include "canonical/version_store.h"
#include "canonical/whole_version.h"
#include "core/file_counts.h"
#include "support/pushed_run.h"

namespace wdelta {

namespace {

Result<PushReport> Publish(const PushedRun& run, PushOptions options) {
  Session session = run.Open();
  options.source = run.folder / options.source;
  options.run = "run7";
  return PublishVersion(session, options, run.context);
}

}  // namespace

TEST_CASE("a whole checkpoint is read at most twice: for its digests, and to be sent") {
  const PushedRun run;
  run.WriteModel("1", 1);
  const FileCounts files;
  const auto pushed = Publish(run, {.source = "1"});
  REQUIRE_OK(pushed);
  CHECK(pushed->record.number == 1);
  CHECK(files.Of("/1/").read >= 2 * PushedRun::kModelBytes);
  CHECK(files.Of("/1/").read < 2 * PushedRun::kModelBytes + PushedRun::kModelBytes / 20);
  const auto objects = run.store->Objects();
  CHECK(AsText(objects.at("latest").bytes) == "run7/weight_v000001");
  // The list of checksums is right: every file is what it says.
  const std::string folder = std::string(kVersionPrefix) + "weight_v000001/";
  const auto sums = ParseSums(AsText(objects.at(folder + kSumsFile).bytes));
  CHECK(sums.size() == 5);
  for (const FileSum& sum : sums) CHECK(DigestSha256(objects.at(folder + sum.name).bytes) == sum.sha256);
}

TEST_CASE("the next version is a delta, for which base and source are read once") {
  const PushedRun run;
  run.WriteModel("1", 1);
  run.WriteModel("2", 2);
  REQUIRE_OK(Publish(run, {.source = "1"}));
  const FileCounts files;
  const auto pushed = Publish(run, {.source = "2"});
  REQUIRE_OK(pushed);
  CHECK(pushed->record.number == 2);
  CHECK(pushed->record.delta_bytes.has_value());
  CHECK(files.Of("/2/").read < PushedRun::kModelBytes + PushedRun::kModelBytes / 20);
  CHECK(files.Of("/base-").read < PushedRun::kModelBytes + PushedRun::kModelBytes / 20);
  const auto again = Publish(run, {.source = "2"});
  REQUIRE_OK(again);
  CHECK(again->already_there);
}

TEST_CASE("a pusher that does not know the newest version needs a base, or sends all of the model") {
  const PushedRun run;
  run.WriteModel("1", 1);
  run.WriteModel("elsewhere/2", 2);
  run.WriteModel("elsewhere/3", 3);
  REQUIRE_OK(Publish(run, {.source = "1"}));
  CHECK_FAILS(Publish(run, {.source = "elsewhere/2"}), ErrorKind::kConflict, "has kept no base");
  REQUIRE_OK(Publish(run, {.source = "elsewhere/2", .base = run.folder / "1"}));
  const auto whole = Publish(run, {.source = "1", .anchor = true});
  REQUIRE_OK(whole);
  CHECK(whole->record.number == 3);
  CHECK(whole->record.anchor_bytes.has_value());
}

TEST_CASE("versions and a history do not share a remote") {
  const PushedRun run;
  run.PushMany(1);
  CHECK_FAILS(Publish(run, {.source = "1"}), ErrorKind::kConflict, "holds a history of wdelta");
  const PushedRun other;
  other.WriteModel("1", 1);
  REQUIRE_OK(Publish(other, {.source = "1"}));
  CHECK_FAILS(other.Push("1"), ErrorKind::kConflict, "holds versions for other systems");
}

}  // namespace wdelta
