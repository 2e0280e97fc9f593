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

TEST_CASE("a state says of which format it is, and one without a format is of the first") {
  const ScratchFolder folder;
  const std::string path = folder / "state.json";
  StateFile state;
  state.Set("a", "b");
  REQUIRE_OK(state.Write(path, false));
  CHECK(folder.Read("state.json") == "{\"format\":\"1\",\"a\":\"b\"}\n");
  folder.Write("old.json", "{\"a\":\"b\"}\n");
  for (const char* name : {"state.json", "old.json"}) {
    const Result<StateFile> read = StateFile::Read(folder / name);
    REQUIRE_OK(read);
    CHECK(read->Text("a") == "b");
    CHECK_FALSE(read->Has("format"));
  }
  REQUIRE_OK(StateFile().Write(path, false));
  CHECK(StateFile::Read(path)->empty());
}

TEST_CASE("a state of a newer format is refused before anything else of it is looked at") {
  const ScratchFolder folder;
  for (const char* text :
       {R"({"format":"2","a":"b"})", R"({"format":"99999999999999999999999"})", R"({"format":"2","a":[1,{}]})"}) {
    CAPTURE(text);
    folder.Write("state.json", text);
    const Result<StateFile> read = StateFile::Read(folder / "state.json");
    CHECK_FAILS(read, ErrorKind::kRefused, "was written by a newer wdelta");
    CHECK(read.error().hint.find("at least as new") != std::string::npos);
    CHECK(read.error().path == folder / "state.json");
  }
  for (const char* text : {R"({"format":"0"})", R"({"format":""})", R"({"format":"1x"})", R"({"format":"-1"})"}) {
    folder.Write("state.json", text);
    CHECK_FAILS(StateFile::Read(folder / "state.json"), ErrorKind::kIntegrity, "is damaged");
  }
}

}  // namespace wdelta
