// Patching in place. That it survives being killed is shown by crash/kill_points.py.
#include "walk/in_place.h"

#include <sys/mman.h>
#include <unistd.h>

#include "support/expect.h"
#include "support/random_checkpoint.h"
#include "walk/chain.h"
#include "walk/journal.h"
#include "wdelta.h"

namespace wdelta {
namespace {

MadeCheckpoint Model(uint16_t step) {
  MadeCheckpoint made;
  made.shards = {{"a.safetensors", {Ramp("w", 50), Ramp("x", 9)}, {}, 0}, {"b.safetensors", {Ramp("v", 20)}, {}, 0}};
  made.companions = {{"config.json", std::to_string(step)}, {"deep/vocab.txt", "v"}};
  for (MadeShard& shard : made.shards) Store(shard.tensors[0].data.data() + 4, step);
  return made;
}

Result<ApplyReport> Patch(const ScratchFolder& folder, const std::string& base,
                          const std::vector<std::string>& deltas) {
  ApplyRequest request{.base = folder / base, .in_place = true, .durable = true};
  for (const std::string& delta : deltas) request.deltas.push_back(folder / delta);
  return Apply(request, {.threads = 2});
}

void MakePack(const ScratchFolder& folder, const std::string& base, const std::string& next) {
  REQUIRE_OK(Pack({.inputs = {folder / base, folder / next}, .output = folder / (base + next + ".wdp")}, {}));
}

struct Steps {
  Steps() {
    for (uint16_t i = 1; i <= 3; ++i) WriteCheckpoint(folder, std::to_string(i), Model(i));
    MakePack(folder, "1", "2");
    MakePack(folder, "2", "3");
  }
  ScratchFolder folder;
};

TEST_CASE("patching in place leaves the result, the same files where they can stay, and nothing else") {
  const Steps steps;
  const auto inode = [&](const char* path) { return File::OpenForRead(steps.folder / path)->Identify()->inode; };
  const uint64_t shard = inode("1/a.safetensors"), vocabulary = inode("1/deep/vocab.txt");
  const auto report = Patch(steps.folder, "1", {"12.wdp", "23.wdp"});
  REQUIRE_OK(report);
  CHECK_FALSE(report->already_applied);
  CHECK(report->path == steps.folder / "1");
  CHECK(steps.folder.TreeOf("1") == steps.folder.TreeOf("3"));
  CHECK(inode("1/a.safetensors") == shard);
  CHECK(inode("1/deep/vocab.txt") == vocabulary);
}

TEST_CASE("a checkpoint that is already there is not touched, not even its time") {
  const Steps steps;
  const auto before = *File::OpenForRead(steps.folder / "2/a.safetensors")->Identify();
  const auto report = Patch(steps.folder, "2", {"12.wdp"});
  REQUIRE_OK(report);
  CHECK(report->already_applied);
  CHECK(before == *File::OpenForRead(steps.folder / "2/a.safetensors")->Identify());
  CHECK_FALSE(steps.folder.Exists("2/.wdelta-apply"));
}

TEST_CASE("a shard with a second name is refused, because the other name would see it change") {
  const Steps steps;
  REQUIRE(link((steps.folder / "1/b.safetensors").c_str(), (steps.folder / "other").c_str()) == 0);
  const Tree before = steps.folder.TreeOf();
  const auto report = Patch(steps.folder, "1", {"12.wdp"});
  CHECK_FAILS(report, ErrorKind::kRefused, "has more than one name");
  CHECK(report.error().hint.find("-o") != std::string::npos);
  CHECK(steps.folder.TreeOf() == before);
}

TEST_CASE("a shard that is a link is refused") {
  const Steps steps;
  steps.folder.Copy("1/b.safetensors", "1/deep/real.bin");
  steps.folder.Remove("1/b.safetensors");
  REQUIRE(symlink("deep/real.bin", (steps.folder / "1/b.safetensors").c_str()) == 0);
  const Tree before = steps.folder.TreeOf();
  CHECK_FAILS(Patch(steps.folder, "1", {"12.wdp"}), ErrorKind::kRefused, "is a symbolic link");
  CHECK(steps.folder.TreeOf() == before);
}

TEST_CASE("a lone file is patched in place, also into another header") {
  const ScratchFolder folder;
  MadeCheckpoint made;
  made.lone_file = true;
  made.shards = {{"", {Ramp("w", 50)}, {}, 0}};
  WriteCheckpoint(folder, "x", made);
  made.shards[0].tensors[0].data[7] ^= 1;
  WriteCheckpoint(folder, "y", made);
  made.shards[0].tensors.push_back(Ramp("more", 5));
  WriteCheckpoint(folder, "z", made);
  MakePack(folder, "x", "y");
  MakePack(folder, "y", "z");
  REQUIRE_OK(Patch(folder, "x", {"xy.wdp"}));
  CHECK(folder.Read("x") == folder.Read("y"));
  REQUIRE_OK(Patch(folder, "x", {"yz.wdp"}));
  CHECK(folder.Read("x") == folder.Read("z"));
  CHECK(folder.TreeOf().size() == 5);
}

TEST_CASE("a lone file that would become a folder with one file of another name stays as it is") {
  const ScratchFolder folder;
  MadeCheckpoint made;
  made.lone_file = true;
  made.shards = {{"", {Ramp("w", 50)}, {}, 0}};
  WriteCheckpoint(folder, "x", made);
  made.lone_file = false;
  made.shards[0].name = "other.safetensors";
  made.shards[0].tensors[0].data[7] ^= 1;
  WriteCheckpoint(folder, "y", made);
  MakePack(folder, "x", "y");
  const Tree before = folder.TreeOf();
  CHECK_FAILS(Patch(folder, "x", {"xy.wdp"}), ErrorKind::kRefused, "is one file");
  CHECK(folder.TreeOf() == before);
}

TEST_CASE("two at a time do not work on one checkpoint") {
  const Steps steps;
  const auto journal = Journal::Open(steps.folder / "1", true);
  REQUIRE_OK(journal);
  const auto report = Patch(steps.folder, "1", {"12.wdp"});
  CHECK_FAILS(report, ErrorKind::kBusy, "another process is patching");
}

TEST_CASE("a shard that is open or mapped is refused by the name of the process that uses it") {
  const Steps steps;
  const std::string path = steps.folder / "1/b.safetensors";
  const std::string self = "is in use by process " + std::to_string(getpid());
  const Tree before = steps.folder.TreeOf();
  std::optional<File> open_file;
  open_file.emplace(std::move(*File::OpenForRead(path)));
  CHECK_FAILS(Patch(steps.folder, "1", {"12.wdp"}), ErrorKind::kRefused, self);
  void* const mapped = mmap(nullptr, 8, PROT_READ, MAP_SHARED, open_file->descriptor(), 0);
  REQUIRE(mapped != MAP_FAILED);
  open_file.reset();  // the mapping alone is enough
  CHECK_FAILS(Patch(steps.folder, "1", {"12.wdp"}), ErrorKind::kRefused, self);
  CHECK(steps.folder.TreeOf() == before);
  munmap(mapped, 8);
  REQUIRE_OK(Patch(steps.folder, "1", {"12.wdp"}));
}

TEST_CASE("a change that does not fit into the journal is made in parts, with the same result") {
  const Steps steps;
  const auto opened =
      OpenPacks(steps.folder / "1", {steps.folder / "12.wdp", steps.folder / "23.wdp"}, {}, Trust::kWhole, {});
  REQUIRE_OK(opened);
  const auto rebuilt = PatchInPlace(*opened, steps.folder / "1", true, {.threads = 2}, 0);
  REQUIRE_OK(rebuilt);
  CHECK(steps.folder.TreeOf("1") == steps.folder.TreeOf("3"));
  const auto expected = Checkpoint::Open(steps.folder / "3", {}, [](const std::string&) {});
  CHECK(rebuilt->proof.state() == ProveCheckpoint(*expected, {})->state());
}

TEST_CASE("a base that is not the right one is refused before a byte of it changes, and leaves no journal") {
  const Steps steps;
  const Tree before = steps.folder.TreeOf();
  CHECK_FAILS(Patch(steps.folder, "1", {"23.wdp"}), ErrorKind::kConflict, "made for base");
  CHECK(steps.folder.TreeOf() == before);
}

TEST_CASE("a half-patched checkpoint is finished by the same call") {
  // Some blocks are new already, others still old, as after a crash without a segment.
  const Steps steps;
  steps.folder.Write("1/a.safetensors", steps.folder.Read("2/a.safetensors"));
  const auto report = Patch(steps.folder, "1", {"12.wdp", "23.wdp"});
  REQUIRE_OK(report);
  CHECK(steps.folder.TreeOf("1") == steps.folder.TreeOf("3"));
}

TEST_CASE("a half-patched checkpoint is finished from the pack that the journal kept of another system's delta") {
  const ScratchFolder folder;
  MadeCheckpoint made;
  made.shards = {{"a.safetensors", {Ramp("w", 1'500'000)}, {}, 0}};  // three blocks
  WriteCheckpoint(folder, "1", made);
  for (size_t at = 0; at < made.shards[0].tensors[0].data.size(); at += 999) made.shards[0].tensors[0].data[at] ^= 1;
  WriteCheckpoint(folder, "2", made);
  REQUIRE_OK(Pack({.inputs = {folder / "1", folder / "2"}, .output = folder / "xor", .format = "canonical"}, {}));
  MakePack(folder, "1", "2");
  const std::string before = folder.Read("1/a.safetensors"), after = folder.Read("2/a.safetensors");
  const std::string half = after.substr(0, 2 << 20) + before.substr(2 << 20);
  folder.Write("1/a.safetensors", half);
  CHECK_FAILS(Patch(folder, "1", {"xor"}), ErrorKind::kConflict, "does not match its checksum");
  for (const std::string& found : {half, before, after}) {
    folder.Write("1/a.safetensors", found);
    {
      const auto journal = Journal::Open(folder / "1", true);
      REQUIRE_OK(journal);
      folder.Copy("12.wdp", "1/.wdelta-apply/pack");
    }
    REQUIRE_OK(Patch(folder, "1", {"xor"}));
    CHECK(folder.TreeOf("1") == folder.TreeOf("2"));
  }
}

}  // namespace
}  // namespace wdelta
