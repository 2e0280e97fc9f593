#include "core/file_counts.h"

#include "core/file.h"
#include "support/expect.h"
#include "support/scratch_folder.h"

namespace wdelta {
namespace {

TEST_CASE("what is read and written is counted by the path it was opened under, while somebody counts") {
  const ScratchFolder folder;
  folder.Write("a/x", "0123456789");
  const auto read_half = [&] {
    const auto file = File::OpenForRead(folder / "a/x");
    REQUIRE_OK(file);
    Bytes half(5);
    REQUIRE_OK(file->ReadAt(5, half));
  };
  read_half();
  FileCounts counts;
  CHECK(counts.Of().opened == 0);
  read_half();
  read_half();
  CHECK(counts.Of("/a/").opened == 2);
  CHECK(counts.Of("/a/").read == 10);
  CHECK(counts.Of("/b/").read == 0);

  const auto sink = OpenSink(folder / "b");
  REQUIRE_OK(sink);
  REQUIRE_OK((*sink)->Write(AsBytes("abc")));
  REQUIRE_OK((*sink)->Commit());
  CHECK(counts.Of("/.b.wdelta-").written == 3);
  CHECK(counts.Of().read == 10);
  CHECK(counts.All().size() == 2);
  counts.Forget();
  CHECK(counts.Of().opened == 0);
}

}  // namespace
}  // namespace wdelta
