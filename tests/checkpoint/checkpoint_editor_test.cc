#include "checkpoint/checkpoint_editor.h"

#include "support/expect.h"
#include "support/random_checkpoint.h"

namespace wdelta {
namespace {

MadeCheckpoint Made(bool lone_file) {
  MadeCheckpoint made;
  made.lone_file = lone_file;
  made.shards = {{"model.safetensors", {Ramp("w", 40), Ramp("v", 3)}, {}, 0}};
  if (!lone_file) made.companions = {{"config.json", "{}"}, {"deep/er/vocab.txt", "a"}, {"empty.txt", ""}};
  return made;
}

// Writes a copy of the checkpoint "m" through an editor, up to its commit.
Result<CheckpointEditor> CopyThrough(const ScratchFolder& folder, const std::string& output) {
  WD_ASSIGN(const Checkpoint source, Checkpoint::Open(folder / "m", {}, [](const std::string&) {}));
  WD_ASSIGN(CheckpointEditor editor, CheckpointEditor::Create(folder / output, source.layout(), true));
  for (size_t file = 0; file < source.layout().file_count(); ++file) {
    for (uint64_t number = 0; number < BlockCount(source.layout().file(file).bytes); ++number) {
      WD_ASSIGN(const Bytes content, source.ReadFileBlock(file, number));
      WD_TRY(editor.WriteFileBlock(file, number, content));
    }
  }
  for (const Tensor& tensor : source.tensors()) {
    Bytes content(tensor.bytes);
    WD_TRY(source.Read(tensor, 0, content));
    WD_TRY(editor.WriteTensor(tensor, 0, content));
  }
  return editor;
}

TEST_CASE("a folder is there whole after Commit, and not at all before") {
  const ScratchFolder folder;
  WriteCheckpoint(folder, "m", Made(false));
  auto editor = CopyThrough(folder, "out");
  REQUIRE_OK(editor);
  CHECK_FALSE(folder.Exists("out"));
  REQUIRE_OK(editor->Commit());
  CHECK(folder.TreeOf("out") == folder.TreeOf("m"));
}

TEST_CASE("an editor that is not committed leaves nothing behind") {
  for (const bool lone_file : {false, true}) {
    const ScratchFolder folder;
    WriteCheckpoint(folder, "m", Made(lone_file));
    const Tree before = folder.TreeOf();
    REQUIRE_OK(CopyThrough(folder, "out"));
    CHECK(folder.TreeOf() == before);
  }
}

TEST_CASE("a folder may be empty or absent, with or without a slash, but not in use") {
  for (const char* output : {"out", "out/"}) {
    const ScratchFolder folder;
    WriteCheckpoint(folder, "m", Made(false));
    folder.Write("out/x", "");
    CHECK_FAILS(CopyThrough(folder, output), ErrorKind::kRefused, "not empty");
    CHECK(folder.TreeOf("out").size() == 1);
    folder.Remove("out/x");
    auto editor = CopyThrough(folder, output);
    REQUIRE_OK(editor);
    REQUIRE_OK(editor->Commit());
    CHECK(folder.TreeOf("out") == folder.TreeOf("m"));
  }
  const ScratchFolder folder;
  WriteCheckpoint(folder, "m", Made(false));
  folder.Write("out", "a file");
  CHECK_FAILS(CopyThrough(folder, "out"), ErrorKind::kRefused, "no folder");
}

TEST_CASE("a lone file replaces a file, and goes into a folder where the name asks for one") {
  const ScratchFolder folder;
  WriteCheckpoint(folder, "m", Made(true));
  folder.Write("out", "old");
  auto editor = CopyThrough(folder, "out");
  REQUIRE_OK(editor);
  CHECK(folder.Read("out") == "old");
  REQUIRE_OK(editor->Commit());
  CHECK(folder.Read("out") == folder.Read("m"));
  auto in_folder = CopyThrough(folder, "new/");
  REQUIRE_OK(in_folder);
  REQUIRE_OK(in_folder->Commit());
  CHECK(folder.TreeOf("new") == Tree{{"model.safetensors", folder.Read("m")}});
}

TEST_CASE("an output where no folder is fails and leaves nothing") {
  const ScratchFolder folder;
  WriteCheckpoint(folder, "m", Made(false));
  const Tree before = folder.TreeOf();
  CHECK_FAILS(CopyThrough(folder, "nowhere/out"), ErrorKind::kNotFound, "nowhere");
  CHECK(folder.TreeOf() == before);
}

}  // namespace
}  // namespace wdelta
