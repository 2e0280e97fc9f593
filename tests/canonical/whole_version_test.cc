#include "canonical/whole_version.h"

#include <filesystem>

#include "core/file.h"
#include "core/file_counts.h"
#include "foreign/canonical_index.h"
#include "support/expect.h"
#include "support/random_checkpoint.h"
#include "sync/push_base.h"
#include "walk/walk.h"

namespace wdelta {

namespace {

MadeCheckpoint TwoShards() {
  MadeCheckpoint made;
  made.with_index = true;
  made.shards = {{.name = "m-1.safetensors", .tensors = {Ramp("a", 100)}},
                 {.name = "m-2.safetensors", .tensors = {Ramp("b", 50)}}};
  made.companions = {{"config.json", "{}"}, {"tokenizer/vocab.txt", "a\nb\n"}};
  return made;
}

Checkpoint Opened(const std::string& path) {
  Result<Checkpoint> checkpoint = Checkpoint::Open(path, {}, [](const std::string&) {});
  REQUIRE_OK(checkpoint);
  return std::move(*checkpoint);
}

std::string SumOf(const std::string& content) {
  return Hex(DigestSha256(AsBytes(content)));
}

Result<WholeVersion> Wrap(const Checkpoint& checkpoint, uint64_t version) {
  WD_ASSIGN(const CheckpointDigests digests, DigestFiles(checkpoint, {}));
  return WrapWholeVersion(checkpoint, digests.files, version);
}

// The checkpoint `from` as it would lie in a store, in `to`.
void WrapInto(const ScratchFolder& folder, const std::string& from, const std::string& to, uint64_t version) {
  const Checkpoint checkpoint = Opened(folder / from);
  const Result<WholeVersion> whole = Wrap(checkpoint, version);
  REQUIRE_OK(whole);
  for (size_t i = 0; i < checkpoint.layout().file_count(); ++i) {
    const std::string& name = checkpoint.layout().file(i).path;
    folder.Write(to + "/" + name, folder.Read(from + "/" + name));
  }
  folder.Write(to + "/" + kIndexFile, whole->index);
  folder.Write(to + "/" + kSumsFile, whole->sums);
}

}  // namespace

TEST_CASE("one pass over a checkpoint tells the same as a pass for its state and one for each file") {
  Dice dice(7);
  for (int round = 0; round < 20; ++round) {
    const ScratchFolder folder;
    const MadeCheckpoint made = RandomCheckpoint(dice);
    WriteCheckpoint(folder, "a", made);
    const Checkpoint checkpoint = Opened(folder / "a");
    FileCounts counts;
    const Result<CheckpointDigests> digests = DigestFiles(checkpoint, {});
    REQUIRE_OK(digests);
    uint64_t shard_bytes = 0;
    for (size_t i = 0; i < checkpoint.layout().shards.size(); ++i) {
      shard_bytes += std::filesystem::file_size(checkpoint.ShardPath(i));
    }
    CHECK(counts.Of().read == shard_bytes);
    CHECK(digests->identity == ProveCheckpoint(checkpoint, {})->digests());
    REQUIRE(digests->files.size() == checkpoint.layout().file_count());
    for (size_t i = 0; i < digests->files.size(); ++i) {
      const Result<Bytes> bytes = ReadWholeFile(FilesOf(checkpoint)[i].from, 1 << 30);
      REQUIRE_OK(bytes);
      CHECK(digests->files[i] == DigestSha256(*bytes));
    }
  }
}

TEST_CASE("the list of checksums has a line for every file, and the index says which version it is") {
  const ScratchFolder folder;
  WriteCheckpoint(folder, "a", TwoShards());
  const Result<WholeVersion> whole = Wrap(Opened(folder / "a"), 7);
  REQUIRE_OK(whole);
  CHECK(ReadCanonicalIndex(whole->index)->Value("version") == "000007");
  CHECK_FALSE(ReadCanonicalIndex(whole->index)->is_delta());
  std::string lines;
  for (const char* name : {"m-1.safetensors", "m-2.safetensors", "config.json", "tokenizer/vocab.txt"}) {
    const std::string line = SumOf(folder.Read(std::string("a/") + name)) + "  " + name + "\n";
    CHECK_MESSAGE(whole->sums.find(line) != std::string::npos, name);
    lines += line;
  }
  const std::string index = SumOf(whole->index) + "  " + kIndexFile + "\n";
  CHECK(whole->sums.ends_with(index));
  CHECK(whole->sums.size() == lines.size() + index.size());
}

TEST_CASE("a version that was wrapped is unwrapped to the checkpoint that it was, and a second time changes nothing") {
  for (const bool with_metadata : {true, false}) {
    const ScratchFolder folder;
    WriteCheckpoint(folder, "a", TwoShards());
    if (!with_metadata)
      folder.Write(std::string("a/") + kIndexFile, R"({"weight_map":{"a":"m-1.safetensors","b":"m-2.safetensors"}})");
    WrapInto(folder, "a", "b", 3);
    for (int time = 0; time < 2; ++time) {
      REQUIRE_OK(UnwrapWholeVersion(folder / "b", {}));
      CHECK(folder.TreeOf("b") == folder.TreeOf("a"));
    }
  }
}

TEST_CASE("a checkpoint of one file gets an index that names its tensors") {
  const ScratchFolder folder;
  MadeCheckpoint made;
  made.lone_file = true;
  made.shards = {{.tensors = {Ramp("a \"quoted\"", 10), Ramp("b", 5)}}};
  WriteCheckpoint(folder, "one.safetensors", made);
  const Checkpoint checkpoint = Opened(folder / "one.safetensors");
  const Result<WholeVersion> whole = Wrap(checkpoint, 1);
  REQUIRE_OK(whole);
  const Result<CanonicalIndex> index = ReadCanonicalIndex(whole->index);
  REQUIRE_OK(index);
  CHECK(index->weight_map.at("a \"quoted\"") == checkpoint.layout().file(0).path);
  CHECK(index->weight_map.size() == 2);
  CHECK(FilesOf(checkpoint)[0].from == folder / "one.safetensors");
}

TEST_CASE("a file that is not what its checksum says, or is missing, is found") {
  const ScratchFolder folder;
  WriteCheckpoint(folder, "a", TwoShards());
  for (const char* name : {"m-2.safetensors", "config.json", "tokenizer/vocab.txt"}) {
    WrapInto(folder, "a", "b", 3);
    const std::string path = std::string("b/") + name;
    std::string content = folder.Read(path);
    content.back() ^= 1;
    folder.Write(path, content);
    CHECK_FAILS(UnwrapWholeVersion(folder / "b", {}), ErrorKind::kIntegrity, name);
    CHECK(folder.Exists(std::string("b/") + kSumsFile));  // so that it is found the next time, too
    folder.Remove(path);
    CHECK_FALSE(UnwrapWholeVersion(folder / "b", {}).ok());
    folder.Remove("b");
  }
}

TEST_CASE("a list that names files elsewhere is refused") {
  const ScratchFolder folder;
  WriteCheckpoint(folder, "a", TwoShards());
  folder.Write("secret", "s");
  for (const char* name : {"../secret", "/etc/passwd", "a/../../secret"}) {
    WrapInto(folder, "a", "b", 1);
    folder.Write(std::string("b/") + kSumsFile, SumOf("s") + "  " + name + "\n");
    const Result<Proof> unwrapped = UnwrapWholeVersion(folder / "b", {});
    REQUIRE_FALSE(unwrapped.ok());
    CHECK(unwrapped.error().kind == ErrorKind::kRefused);
    folder.Remove("b");
  }
}

TEST_CASE("without a list a version is taken as it came, with a note, and files that are no part of it go") {
  const ScratchFolder folder;
  WriteCheckpoint(folder, "a", TwoShards());
  WrapInto(folder, "a", "b", 3);
  folder.Remove(std::string("b/") + kSumsFile);
  folder.Write("b/.marker", "x");
  std::string notes;
  Context context;
  context.note = [&](const std::string& note) { notes += note; };
  REQUIRE_OK(UnwrapWholeVersion(folder / "b", context));
  CHECK(notes.find("was not verified") != std::string::npos);
  CHECK(folder.TreeOf("b") == folder.TreeOf("a"));
}

TEST_CASE("the checksums of a delta's files are listed in the given order") {
  const ScratchFolder folder;
  folder.Write("x", "1");
  folder.Write("y", "");
  const Result<std::vector<FileSum>> sums = ListSums(folder.path(), {"y", "x"}, {});
  REQUIRE_OK(sums);
  CHECK(SumsText(*sums) == SumOf("") + "  y\n" + SumOf("1") + "  x\n");
  CHECK_FAILS(ListSums(folder.path(), {"z"}, {}), ErrorKind::kNotFound, "z");
}

}  // namespace wdelta
