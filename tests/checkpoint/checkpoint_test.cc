#include "checkpoint/checkpoint.h"

#include <sys/stat.h>
#include <unistd.h>

#include "support/expect.h"
#include "support/random_checkpoint.h"

namespace wdelta {
namespace {

MadeCheckpoint TwoShards() {
  MadeCheckpoint made;
  made.with_index = true;
  made.shards = {{"a.safetensors", {Ramp("z", 5), Ramp("m", 7)}, {}, 0}, {"b.safetensors", {Ramp("a", 3)}, {}, 0}};
  made.companions["config.json"] = "{}";
  return made;
}

Result<Checkpoint> OpenQuietly(const std::string& path, const FileChoice& choice = {}) {
  return Checkpoint::Open(path, choice, [](const std::string&) {});
}

TEST_CASE("the tensors of all shards come in the order of their names, and are found by name") {
  const ScratchFolder folder;
  WriteCheckpoint(folder, "m", TwoShards());
  const auto checkpoint = OpenQuietly(folder / "m");
  REQUIRE_OK(checkpoint);
  REQUIRE(checkpoint->tensors().size() == 3);
  CHECK(checkpoint->tensors()[0].name == "a");
  CHECK(checkpoint->tensors()[1].name == "m");
  CHECK(checkpoint->tensors()[2].name == "z");
  CHECK(checkpoint->Find("m")->shard == 0);
  CHECK(checkpoint->Find("a")->shard == 1);
  CHECK(checkpoint->Find("b") == nullptr);
  CHECK(checkpoint->data_bytes() == 30);
  const Tensor& m = *checkpoint->Find("m");
  Bytes read(m.bytes - 2);
  REQUIRE_OK(checkpoint->Read(m, 2, read));
  const Bytes written = Ramp("m", 7).data;
  CHECK(read == Bytes(written.begin() + 2, written.end()));
  CHECK(FileOrder(checkpoint->tensors()) == std::vector<uint32_t>{2, 1, 0});
}

TEST_CASE("a layout holds the digests of headers and companions, whose bytes can be read back") {
  const ScratchFolder folder;
  WriteCheckpoint(folder, "m", TwoShards());
  const auto checkpoint = OpenQuietly(folder / "m");
  REQUIRE_OK(checkpoint);
  const Layout& layout = checkpoint->layout();
  REQUIRE(layout.file_count() == 4);
  for (size_t file = 0; file < 4; ++file) {
    const std::string text = folder.Read("m/" + layout.file(file).path);
    CHECK(text.size() == layout.file(file).bytes + layout.file(file).data_bytes);
    const auto content = checkpoint->ReadFileBlock(file, 0);
    REQUIRE_OK(content);
    CHECK(AsText(*content) == text.substr(0, layout.file(file).bytes));
    CHECK(DigestSha256(*content) == layout.file(file).sha256);
  }
}

TEST_CASE("a tensor in two shards is an error that names both") {
  const ScratchFolder folder;
  MadeCheckpoint made = TwoShards();
  made.with_index = false;
  made.shards[1].tensors.push_back(Ramp("m", 7));
  WriteCheckpoint(folder, "m", made);
  const auto checkpoint = OpenQuietly(folder / "m");
  CHECK_FAILS(checkpoint, ErrorKind::kIntegrity, "'m' is in two shards: 'a.safetensors' and 'b.safetensors'");
  CHECK(checkpoint.error().tensor == "m");
}

TEST_CASE("a tensor that the index places where it is not is an error") {
  const ScratchFolder folder;
  MadeCheckpoint made = TwoShards();
  WriteCheckpoint(folder, "m", made);
  std::swap(made.shards[0].name, made.shards[1].name);
  folder.Write("m/model.safetensors.index.json", IndexText(made.shards));
  CHECK_FAILS(OpenQuietly(folder / "m"), ErrorKind::kIntegrity, "is not in");
  made = TwoShards();
  made.shards[0].tensors.push_back(Ramp("only in the index", 1));
  folder.Write("m/model.safetensors.index.json", IndexText(made.shards));
  CHECK_FAILS(OpenQuietly(folder / "m"), ErrorKind::kIntegrity, "'only in the index' is not in 'a.safetensors'");
}

TEST_CASE("a tensor that the index does not name is only worth a note") {
  const ScratchFolder folder;
  MadeCheckpoint made = TwoShards();
  WriteCheckpoint(folder, "m", made);
  made.shards[0].tensors.pop_back();
  folder.Write("m/model.safetensors.index.json", IndexText(made.shards));
  std::string notes;
  REQUIRE_OK(Checkpoint::Open(folder / "m", {}, [&](const std::string& note) { notes += note; }));
  CHECK(notes.find("1 tensors in the shards") != std::string::npos);
}

TEST_CASE("the name of a lone file is no part of what it is") {
  const ScratchFolder folder;
  MadeCheckpoint made;
  made.lone_file = true;
  made.shards = {{"", {Ramp("w", 4)}, {}, 0}};
  WriteCheckpoint(folder, "x.safetensors", made);
  WriteCheckpoint(folder, "y", made);
  made.lone_file = false;
  made.shards[0].name = "model.safetensors";
  WriteCheckpoint(folder, "m", made);
  const auto x = OpenQuietly(folder / "x.safetensors"), y = OpenQuietly(folder / "y"), m = OpenQuietly(folder / "m");
  REQUIRE_OK(x);
  REQUIRE_OK(y);
  REQUIRE_OK(m);
  CHECK(x->layout().lone_file);
  CHECK(x->layout().Digest() == y->layout().Digest());
  CHECK(x->layout().Digest() == m->layout().Digest());
}

TEST_CASE("a shard of a distributed checkpoint is known by its metadata, too") {
  const ScratchFolder folder;
  MadeCheckpoint made = TwoShards();
  made.shards[1].metadata = {{"DCP_SHARDING_INFO", "{}"}};
  WriteCheckpoint(folder, "m", made);
  const auto checkpoint = OpenQuietly(folder / "m");
  CHECK_FAILS(checkpoint, ErrorKind::kRefused, "b.safetensors");
  CHECK(checkpoint.error().hint.find("consolidate") != std::string::npos);
}

TEST_CASE("a snapshot of the Hugging Face cache is read through its links") {
  const ScratchFolder folder;
  folder.Write("hub/blobs/123", SafetensorsText({"", {Ramp("w", 4)}, {}, 0}));
  folder.Write("hub/blobs/456", "{}");
  folder.Write("hub/snapshots/c0ffee/x", "");
  folder.Remove("hub/snapshots/c0ffee/x");
  REQUIRE(symlink("../../blobs/123", (folder / "hub/snapshots/c0ffee/model.safetensors").c_str()) == 0);
  REQUIRE(symlink("../../blobs/456", (folder / "hub/snapshots/c0ffee/config.json").c_str()) == 0);
  const auto checkpoint = OpenQuietly(folder / "hub/snapshots/c0ffee");
  REQUIRE_OK(checkpoint);
  CHECK(checkpoint->tensors().size() == 1);
  CHECK(checkpoint->layout().companions.size() == 1);
  // The same links elsewhere lead out.
  REQUIRE(rename((folder / "hub/snapshots").c_str(), (folder / "hub/others").c_str()) == 0);
  CHECK_FAILS(OpenQuietly(folder / "hub/others/c0ffee"), ErrorKind::kRefused, "points outside");
}

TEST_CASE("a checkpoint notices when one of its files is written to, resized or replaced") {
  const auto change = [](const std::function<void(const ScratchFolder&)>& how) {
    const ScratchFolder folder;
    WriteCheckpoint(folder, "m", TwoShards());
    const auto checkpoint = OpenQuietly(folder / "m");
    REQUIRE_OK(checkpoint);
    REQUIRE_OK(checkpoint->CheckUnchanged());
    how(folder);
    return checkpoint->CheckUnchanged();
  };
  CHECK_FAILS(change([](const ScratchFolder& folder) {
                REQUIRE_OK(File::OpenForUpdate(folder / "m/b.safetensors")->WriteAt(0, AsBytes("x")));
              }),
              ErrorKind::kConflict, "b.safetensors' changed while it was read");
  CHECK_FAILS(
      change([](const ScratchFolder& folder) { REQUIRE(truncate((folder / "m/a.safetensors").c_str(), 5) == 0); }),
      ErrorKind::kConflict, "a.safetensors");
  CHECK_FAILS(change([](const ScratchFolder& folder) {
                folder.Write("copy", folder.Read("m/config.json"));
                REQUIRE_OK(Rename(folder / "copy", folder / "m/config.json", false));
              }),
              ErrorKind::kConflict, "config.json");
  CHECK_FAILS(change([](const ScratchFolder& folder) { folder.Remove("m/config.json"); }), ErrorKind::kNotFound,
              "config.json");
}

TEST_CASE("a shard that shrinks under a reader is a conflict, not a malformed file") {
  const ScratchFolder folder;
  WriteCheckpoint(folder, "m", TwoShards());
  const auto checkpoint = OpenQuietly(folder / "m");
  REQUIRE_OK(checkpoint);
  Bytes read(2);
  const Tensor& a = *checkpoint->Find("a");
  REQUIRE_OK(checkpoint->Read(a, 0, read));
  REQUIRE(truncate((folder / "m/b.safetensors").c_str(), 10) == 0);
  CHECK_FAILS(checkpoint->Read(a, 0, read), ErrorKind::kConflict, "changed while it was read");
}

TEST_CASE("more shards than a process may open at once can be read") {
  const ScratchFolder folder;
  for (int i = 0; i < 450; ++i) {
    const std::string n = std::to_string(i);
    folder.Write("m/" + n + ".safetensors", SafetensorsText({"", {Ramp(n, 2, static_cast<uint16_t>(i))}, {}, 0}));
  }
  const auto checkpoint = OpenQuietly(folder / "m");
  REQUIRE_OK(checkpoint);
  for (const Tensor& tensor : checkpoint->tensors()) {
    uint8_t first[2];
    REQUIRE_OK(checkpoint->Read(tensor, 0, first));
    CHECK(Load<uint16_t>(first) == std::stoi(std::string(tensor.name)));
  }
}

TEST_CASE("more patterns than a pack may hold are refused at once") {
  const ScratchFolder folder;
  WriteCheckpoint(folder, "m", TwoShards());
  FileChoice choice;
  choice.exclude.assign(kMaxPatterns, "*.md");
  REQUIRE_OK(OpenQuietly(folder / "m", choice));
  choice.exclude.emplace_back("*.txt");
  CHECK_FAILS(OpenQuietly(folder / "m", choice), ErrorKind::kUsage, "more than 1000 patterns");
}

TEST_CASE("blocks cut a tensor into pieces of a mebibyte") {
  CHECK(BlockCount(0) == 0);
  CHECK(BlockCount(1) == 1);
  CHECK(BlockCount(kBlockBytes) == 1);
  CHECK(BlockCount(kBlockBytes + 1) == 2);
  CHECK(BlockCount(~uint64_t{0}) == uint64_t{1} << 44);
  CHECK(BlockLength(kBlockBytes + 1, 0) == kBlockBytes);
  CHECK(BlockLength(kBlockBytes + 1, 1) == 1);
}

}  // namespace
}  // namespace wdelta
