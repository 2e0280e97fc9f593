#include "core/state_file.h"

#include "support/expect.h"
#include "support/scratch_folder.h"

namespace wdelta {

TEST_CASE("a state is read as it was written, and a missing one is empty") {
  const ScratchFolder folder;
  const std::string path = folder / "state.json";
  CHECK(StateFile::Read(path)->empty());
  StateFile state;
  const Sha256Digest digest = DigestSha256(AsBytes("x"));
  state.Set("text", "a \"quoted\" text\n");
  state.Set("number", uint64_t{18'446'744'073'709'551'615U});
  state.Set("digest", digest);
  REQUIRE_OK(state.Write(path, false));
  const Result<StateFile> read = StateFile::Read(path);
  REQUIRE_OK(read);
  CHECK(read->Text("text") == "a \"quoted\" text\n");
  CHECK(read->Number("number") == 18'446'744'073'709'551'615U);
  CHECK(read->Digest("digest") == digest);
  CHECK(read->Text("other").empty());
  CHECK(read->Number("text") == 0);
  CHECK(read->Digest("text") == Sha256Digest{});
}

TEST_CASE("a state that cannot be understood is refused, not taken for an empty one") {
  const ScratchFolder folder;
  for (const char* text : {"", "{", "[]", "{\"a\":1}", "{\"a\":\"b\"", "\xff\xff"}) {
    folder.Write("state.json", text);
    CHECK_FAILS(StateFile::Read(folder / "state.json"), ErrorKind::kIntegrity, "is damaged");
  }
}

}  // namespace wdelta
