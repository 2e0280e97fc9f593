// The journal of a checkpoint that is patched where it lies.
#include "walk/journal.h"

#include <filesystem>

#include "support/expect.h"
#include "support/scratch_folder.h"

namespace wdelta {
namespace {

Result<std::string> Recover(const std::string& checkpoint) {
  WD_ASSIGN(Journal journal, Journal::Open(checkpoint, true));
  return journal.Recover();
}

TEST_CASE("a segment and the list of its files are carried out together or not at all") {
  for (const bool has_segment : {true, false}) {
    CAPTURE(has_segment);
    const ScratchFolder folder;
    folder.Write("m/a.safetensors", "0123456789");
    folder.Write("m/config.json", "old");
    {
      auto journal = Journal::Open(folder / "m", true);
      REQUIRE_OK(journal);
      REQUIRE_OK(journal->Add("a.safetensors", 2, 4, 2, {false, {0, 1}, {'a', 'b', 'c', 'd'}}));
      REQUIRE_OK(journal->Stage("config.json", 3)->WriteAt(0, AsBytes("new")));
    }
    ByteWriter list;
    list.Varint(1), list.Text("config.json"), list.Varint(0);
    folder.Write("m/.wdelta-apply/ready", AsText(list.bytes()));
    if (has_segment) folder.Copy("m/.wdelta-apply/segment.new", "m/.wdelta-apply/segment");
    REQUIRE_OK(Recover(folder / "m"));
    CHECK(folder.TreeOf("m") == (has_segment ? Tree{{"a.safetensors", "01abcd6789"}, {"config.json", "new"}}
                                             : Tree{{"a.safetensors", "0123456789"}, {"config.json", "old"}}));
  }
}

TEST_CASE("a journal that is not committed changes nothing and is dropped") {
  const ScratchFolder folder;
  folder.Write("m/a.safetensors", "0123456789");
  folder.Write("m/config.json", "old");
  const Tree before = folder.TreeOf("m");
  {
    auto journal = Journal::Open(folder / "m", true);
    REQUIRE_OK(journal);
    REQUIRE_OK(journal->Add("a.safetensors", 2, 4, 2, {false, {1}, {7, 7}}));
    REQUIRE_OK(journal->Stage("config.json", 10));
  }
  CHECK(Journal::Exists(folder / "m"));
  REQUIRE_OK(Recover(folder / "m"));
  CHECK_FALSE(Journal::Exists(folder / "m"));
  CHECK(folder.TreeOf("m") == before);
}

TEST_CASE("a complete segment mends a block that was torn, and replaying it twice equals once") {
  const ScratchFolder folder;
  folder.Write("m/a.safetensors", "0123456789");
  std::string segment;
  {
    auto journal = Journal::Open(folder / "m", true);
    REQUIRE_OK(journal);
    REQUIRE_OK(journal->Add("a.safetensors", 2, 4, 2, {false, {0, 1}, {'a', 'b', 'c', 'd'}}));
    segment = folder.Read("m/.wdelta-apply/segment.new");
  }
  for (const char* torn : {"0123456789", "01ab456789", "01aXXd6789", "01abcd6789"}) {
    folder.Write("m/a.safetensors", torn);
    folder.Write("m/.wdelta-apply/segment", segment);
    REQUIRE_OK(Recover(folder / "m"));
    CHECK(folder.TreeOf("m") == Tree{{"a.safetensors", "01abcd6789"}});
  }
}

TEST_CASE("a journal whose segment is damaged is refused and kept") {
  const ScratchFolder folder;
  folder.Write("m/a.safetensors", "0123456789");
  {
    auto journal = Journal::Open(folder / "m", true);
    REQUIRE_OK(journal);
    REQUIRE_OK(journal->Add("a.safetensors", 2, 4, 2, {false, {0}, {'a', 'b'}}));
  }
  std::string segment = folder.Read("m/.wdelta-apply/segment.new");
  segment.back() = 'X';
  folder.Write("m/.wdelta-apply/segment", segment);
  CHECK_FAILS(Recover(folder / "m"), ErrorKind::kIntegrity, "is damaged");
  CHECK(folder.Read("m/a.safetensors") == "0123456789");
  CHECK(Journal::Exists(folder / "m"));
}

TEST_CASE("a commit that was interrupted after any of its renames is carried out to its end") {
  for (int done = 0; done <= 3; ++done) {
    const ScratchFolder folder;
    folder.Write("m/a.safetensors", "old a");
    folder.Write("m/gone.txt", "old");
    {
      auto journal = Journal::Open(folder / "m", true);
      REQUIRE_OK(journal);
      for (const char* path : {"a.safetensors", "deep/new.txt"}) {
        const auto staged = journal->Stage(path, 3);
        REQUIRE_OK(staged);
        REQUIRE_OK(staged->WriteAt(0, AsBytes("new")));
      }
    }
    ByteWriter commit;
    commit.Varint(2), commit.Text("a.safetensors"), commit.Text("deep/new.txt"), commit.Varint(1),
        commit.Text("gone.txt");
    folder.Write("m/.wdelta-apply/commit", AsText(commit.bytes()));
    if (done >= 1) REQUIRE_OK(Rename(folder / "m/.wdelta-apply/new/a.safetensors", folder / "m/a.safetensors", false));
    if (done >= 2) {
      std::filesystem::create_directory(folder / "m/deep");
      REQUIRE_OK(Rename(folder / "m/.wdelta-apply/new/deep/new.txt", folder / "m/deep/new.txt", false));
    }
    if (done >= 3) folder.Remove("m/gone.txt");
    REQUIRE_OK(Recover(folder / "m"));
    CHECK(folder.TreeOf("m") == Tree{{"a.safetensors", "new"}, {"deep/", ""}, {"deep/new.txt", "new"}});
  }
}

TEST_CASE("a journal with names that lead out of its checkpoint is refused") {
  const ScratchFolder folder;
  folder.Write("m/a.safetensors", "0123456789");
  folder.Write("victim.safetensors", "0123456789");
  {
    auto journal = Journal::Open(folder / "m", true);
    REQUIRE_OK(journal);
    REQUIRE_OK(journal->Add("../victim.safetensors", 2, 4, 2, {false, {0}, {'a', 'b'}}));
  }
  folder.Copy("m/.wdelta-apply/segment.new", "m/.wdelta-apply/segment");
  CHECK_FAILS(Recover(folder / "m"), ErrorKind::kRefused, "points outside");
  folder.Remove("m/.wdelta-apply/segment");
  ByteWriter commit;
  commit.Varint(0), commit.Varint(1), commit.Text("../victim.safetensors");
  folder.Write("m/.wdelta-apply/commit", AsText(commit.bytes()));
  CHECK_FAILS(Recover(folder / "m"), ErrorKind::kRefused, "points outside");
  CHECK(folder.Read("victim.safetensors") == "0123456789");
}

}  // namespace
}  // namespace wdelta
