#include "checkpoint/folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include "support/expect.h"
#include "support/random_checkpoint.h"

namespace wdelta {
namespace {

using Paths = std::vector<std::string>;

// What is found in the folder "m", and the notes made on the way.
struct Listed {
  explicit Listed(const ScratchFolder& folder, const FileChoice& choice = {})
      : files(ListCheckpointFolder(folder / "m", choice, [this](const std::string& note) { notes += note + "\n"; })) {}
  std::string notes;
  Result<FolderFiles> files;
};

std::string Weights() {
  return SafetensorsText({"", {Ramp("w", 4)}, {}, 0});
}

// The error for an index that names this shard.
Result<FolderFiles> ListNaming(const std::string& shard) {
  const ScratchFolder folder;
  folder.Write("m/a.safetensors", Weights());
  folder.Write("outside.safetensors", Weights());
  folder.Write("m/model.safetensors.index.json", "{\"weight_map\": {\"w\": " + shard + "}}");
  return Listed(folder).files;
}

TEST_CASE("without an index, all safetensors files at the top of the folder are shards") {
  const ScratchFolder folder;
  for (const char* name : {"b.safetensors", "a.safetensors", "deep/c.safetensors"})
    folder.Write(std::string("m/") + name, Weights());
  const Listed listed(folder);
  REQUIRE_OK(listed.files);
  CHECK(listed.files->index.empty());
  CHECK(listed.files->shards == Paths{"a.safetensors", "b.safetensors"});
  CHECK(listed.files->companions.empty());
  CHECK(listed.notes.find("deep/c.safetensors") != std::string::npos);
}

TEST_CASE("with an index, the shards are what it names, and it is a companion itself") {
  const ScratchFolder folder;
  for (const char* name : {"m/a.safetensors", "m/other.safetensors"}) folder.Write(name, Weights());
  folder.Write("m/model.safetensors.index.json", R"({"weight_map": {"w": "a.safetensors"}})");
  const Listed listed(folder);
  REQUIRE_OK(listed.files);
  CHECK(listed.files->shards == Paths{"a.safetensors"});
  CHECK(listed.files->companions == Paths{"model.safetensors.index.json"});
  CHECK(listed.notes.find("other.safetensors") != std::string::npos);
}

TEST_CASE("model.safetensors.index.json wins over other indexes, and two others are refused") {
  const ScratchFolder folder;
  folder.Write("m/a.safetensors", Weights());
  folder.Write("m/x.safetensors.index.json", R"({"weight_map": {"w": "a.safetensors"}})");
  CHECK(Listed(folder).files->index == "x.safetensors.index.json");
  folder.Write("m/y.safetensors.index.json", "{}");
  CHECK_FAILS(Listed(folder).files, ErrorKind::kRefused, "several indexes");
  folder.Write("m/model.safetensors.index.json", R"({"weight_map": {"w": "a.safetensors"}})");
  CHECK(Listed(folder).files->index == "model.safetensors.index.json");
}

TEST_CASE("an index entry that leads elsewhere is refused") {
  for (const char* shard : {R"("../outside.safetensors")", R"("/etc/x.safetensors")", R"("deep/a.safetensors")",
                            R"("..")", R"("")", R"(".hidden.safetensors")", R"("a\\b.safetensors")",
                            R"("a\u0000.safetensors")", R"("./a.safetensors")", R"("a.bin")"}) {
    CAPTURE(shard);
    const auto listed = ListNaming(shard);
    REQUIRE_FALSE(listed.ok());
    CHECK(listed.error().kind == ErrorKind::kRefused);
    CHECK(listed.error().message.find("model.safetensors.index.json") != std::string::npos);
  }
  CHECK(ListNaming(R"("a.safetensors")").ok());
}

TEST_CASE("an index that is no index is refused with the reason") {
  const auto list = [](std::string_view text) {
    const ScratchFolder folder;
    folder.Write("m/a.safetensors", Weights());
    folder.Write("m/model.safetensors.index.json", text);
    return Listed(folder).files;
  };
  CHECK_FAILS(list("{}"), ErrorKind::kIntegrity, "no weight_map");
  CHECK_FAILS(list("[]"), ErrorKind::kIntegrity, "byte 0");
  CHECK_FAILS(list(""), ErrorKind::kIntegrity, "byte 0");
  CHECK_FAILS(list(R"({"weight_map": {"w": 1}})"), ErrorKind::kIntegrity, "byte");
  CHECK_FAILS(list(R"({"weight_map": {"w": "a.safetensors", "\u0077": "a.safetensors"}})"), ErrorKind::kIntegrity,
              "twice");
  CHECK_FAILS(list(R"({"weight_map": {}, "weight_map": {}})"), ErrorKind::kIntegrity, "twice");
  CHECK_FAILS(list(R"({"weight_map": {"w": "a.safetensors"}} x)"), ErrorKind::kIntegrity, "byte");
  CHECK_FAILS(list("{\"weight_map\": {\"\xff\": \"a.safetensors\"}}"), ErrorKind::kIntegrity, "UTF-8");
  CHECK_FAILS(list(R"({"weight_map": {}})"), ErrorKind::kNotFound, "no safetensors files");
}

TEST_CASE("a shard that the index names and nobody has is not found") {
  const auto listed = ListNaming(R"("gone.safetensors")");
  CHECK_FAILS(listed, ErrorKind::kNotFound, "gone.safetensors");
}

TEST_CASE("a pipe with the name of a shard is no shard, and nobody waits for it") {
  const ScratchFolder folder;
  folder.Write("m/model.safetensors.index.json", R"({"weight_map": {"w": "a.safetensors"}})");
  REQUIRE(mkfifo((folder / "m/a.safetensors").c_str(), 0600) == 0);
  CHECK_FAILS(Listed(folder).files, ErrorKind::kNotFound, "a.safetensors");
}

TEST_CASE("a folder without safetensors files is not found") {
  const ScratchFolder folder;
  CHECK_FALSE(Listed(folder).files.ok());
  folder.Write("m/config.json", "{}");
  CHECK_FAILS(Listed(folder).files, ErrorKind::kNotFound, "no safetensors files");
}

TEST_CASE("companions are chosen by their ending, in subfolders too, and what is left out is named") {
  const ScratchFolder folder;
  folder.Write("m/model.safetensors", Weights());
  for (const char* name :
       {"config.json", "t/vocab.txt", "chat.jinja", "spm.model", "x.tiktoken", "code.py", "README.md", "optimizer.pt",
        "rng_state_0.pth", "weights.bin", "trainer.pkl", "scheduler.json"}) {
    folder.Write(std::string("m/") + name, name);
  }
  const Listed listed(folder);
  REQUIRE_OK(listed.files);
  CHECK(listed.files->companions ==
        Paths{"README.md", "chat.jinja", "code.py", "config.json", "spm.model", "t/vocab.txt", "x.tiktoken"});
  for (const char* name : {"optimizer.pt", "rng_state_0.pth", "weights.bin", "trainer.pkl", "scheduler.json"}) {
    CHECK(listed.notes.find(name) != std::string::npos);
  }
}

TEST_CASE("hidden files and folders are ignored without a word") {
  const ScratchFolder folder;
  folder.Write("m/model.safetensors", Weights());
  folder.Write("m/.config.json", "{}");
  folder.Write("m/.git/x.json", "{}");
  folder.Write("m/.cache.safetensors", "no header");
  const Listed listed(folder);
  REQUIRE_OK(listed.files);
  CHECK(listed.files->companions.empty());
  CHECK(listed.notes.empty());
}

TEST_CASE("include adds files, exclude removes them, and exclude wins") {
  const ScratchFolder folder;
  folder.Write("m/model.safetensors", Weights());
  for (const char* name : {"config.json", "extra.bin", "more.bin", "t/vocab.txt"})
    folder.Write(std::string("m/") + name, name);
  const Listed listed(folder, {{"*.bin", "*.json"}, {"more.*", "t/*"}});
  REQUIRE_OK(listed.files);
  CHECK(listed.files->companions == Paths{"config.json", "extra.bin"});
}

TEST_CASE("a file of more than 64 MiB is no companion unless it is asked for") {
  const ScratchFolder folder;
  folder.Write("m/model.safetensors", Weights());
  folder.Write("m/large.json", "");
  folder.Write("m/limit.json", "");
  REQUIRE(truncate((folder / "m/large.json").c_str(), (64 << 20) + 1) == 0);
  REQUIRE(truncate((folder / "m/limit.json").c_str(), 64 << 20) == 0);
  CHECK(Listed(folder).files->companions == Paths{"limit.json"});
  CHECK(Listed(folder).notes.find("large.json") != std::string::npos);
  CHECK(Listed(folder, {{"large*"}, {}}).files->companions == Paths{"large.json", "limit.json"});
}

TEST_CASE("optimizer state in a safetensors file is no shard") {
  const ScratchFolder folder;
  folder.Write("m/model.safetensors", Weights());
  folder.Write("m/optimizer.safetensors", Weights());
  const Listed listed(folder);
  REQUIRE_OK(listed.files);
  CHECK(listed.files->shards == Paths{"model.safetensors"});
  CHECK(listed.notes.find("optimizer.safetensors") != std::string::npos);
}

TEST_CASE("shards of a distributed checkpoint are refused with the way out") {
  for (const char* name : {"__0_0.distcp", "shard-00001-model-00001-of-00002.safetensors"}) {
    const ScratchFolder folder;
    folder.Write("m/model.safetensors", Weights());
    folder.Write(std::string("m/") + name, Weights());
    CHECK_FAILS(Listed(folder).files, ErrorKind::kRefused, name);
    CHECK(Listed(folder).files.error().hint.find("consolidate") != std::string::npos);
  }
}

TEST_CASE("a shard that is a link out of the folder is refused, a link inside is followed") {
  const ScratchFolder folder;
  folder.Write("outside.safetensors", Weights());
  folder.Write("m/real/a.safetensors", Weights());
  REQUIRE(symlink("real/a.safetensors", (folder / "m/inside.safetensors").c_str()) == 0);
  CHECK(Listed(folder).files->shards == Paths{"inside.safetensors"});
  REQUIRE(symlink("../outside.safetensors", (folder / "m/b.safetensors").c_str()) == 0);
  CHECK_FAILS(Listed(folder).files, ErrorKind::kRefused, "b.safetensors");
}

TEST_CASE("a companion that is a link out of the folder, or to nothing, is left out and named") {
  const ScratchFolder folder;
  folder.Write("m/model.safetensors", Weights());
  REQUIRE(symlink("/etc/passwd", (folder / "m/secret.txt").c_str()) == 0);
  REQUIRE(symlink("nothing", (folder / "m/dangling.json").c_str()) == 0);
  const Listed listed(folder);
  REQUIRE_OK(listed.files);
  CHECK(listed.files->companions.empty());
  CHECK(listed.notes.find("secret.txt") != std::string::npos);
  CHECK(listed.notes.find("dangling.json") != std::string::npos);
}

TEST_CASE("a folder that is a link is not entered, so a loop of links ends") {
  const ScratchFolder folder;
  folder.Write("m/model.safetensors", Weights());
  REQUIRE(symlink(".", (folder / "m/loop").c_str()) == 0);
  REQUIRE_OK(Listed(folder).files);
  CHECK(Listed(folder).files->companions.empty());
}

}  // namespace
}  // namespace wdelta
