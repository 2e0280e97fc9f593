#include "local/sglang_marker.h"

#include "support/expect.h"
#include "support/scratch_folder.h"

namespace wdelta {

TEST_CASE("the marker is written byte for byte as SGLang writes it") {
  const ScratchFolder folder;
  REQUIRE_OK(SglangMarker::Write(folder.path(), 2, false));
  CHECK(folder.Read(".weight_sync/state.json") == R"({"version": "000002"})");
  REQUIRE_OK(SglangMarker::Write(folder.path(), 1'234'567, true));
  CHECK(folder.Read(".weight_sync/state.json") == R"({"version": "1234567"})");
}

TEST_CASE("a marker is read, also one that another program has written in its own way") {
  const ScratchFolder folder;
  const Result<SglangMarker> marker = SglangMarker::Take(folder.path(), 0, {});
  REQUIRE_OK(marker);
  CHECK_FALSE(marker->was_there());
  CHECK(*marker->Read() == std::nullopt);
  for (const char* text : {R"({"version": "000007"})", R"({"version":"7"})", "{\n \"version\" : \"000007\"\n}\n",
                           R"({"version": "000007", "by": "somebody"})"}) {
    folder.Write(".weight_sync/state.json", text);
    const Result<std::optional<uint64_t>> version = marker->Read();
    REQUIRE_OK(version);
    CHECK(*version == 7);
  }
}

TEST_CASE("a marker without a version says none, and one that is damaged is refused") {
  const ScratchFolder folder;
  const Result<SglangMarker> marker = SglangMarker::Take(folder.path(), 0, {});
  REQUIRE_OK(marker);
  for (const char* text : {"{}", R"({"version": ""})", R"({"version": "x"})", R"({"version": "-1"})"}) {
    folder.Write(".weight_sync/state.json", text);
    const Result<std::optional<uint64_t>> version = marker->Read();
    REQUIRE_OK(version);
    CHECK_FALSE(*version);
  }
  for (const char* text : {"", "{", "[]", R"({"version": -7})", "\xff"}) {
    folder.Write(".weight_sync/state.json", text);
    CHECK_FAILS(marker->Read(), ErrorKind::kIntegrity, "damaged");
  }
}

TEST_CASE("what else a marker says does not matter, unless it says that it is not valid") {
  const ScratchFolder folder;
  const Result<SglangMarker> marker = SglangMarker::Take(folder.path(), 0, {});
  REQUIRE_OK(marker);
  for (const char* text :
       {R"({"version": "000007", "valid": true, "source": null})", R"({"a": [1, {}], "version": 7})"}) {
    folder.Write(".weight_sync/state.json", text);
    CHECK(*marker->Read() == 7);
  }
  folder.Write(".weight_sync/state.json", R"({"version": "000007", "valid": false})");
  CHECK_FALSE(*marker->Read());
}

TEST_CASE("a cleared marker says nothing, and that it was there is remembered") {
  const ScratchFolder folder;
  REQUIRE_OK(SglangMarker::Clear(folder.path(), true));  // nothing is there yet
  REQUIRE_OK(SglangMarker::Write(folder.path(), 3, false));
  REQUIRE_OK(SglangMarker::Clear(folder.path(), false));
  CHECK_FALSE(folder.Exists(".weight_sync/state.json"));
  const Result<SglangMarker> marker = SglangMarker::Take(folder.path(), 0, {});
  REQUIRE_OK(marker);
  CHECK(marker->was_there());
  CHECK(*marker->Read() == std::nullopt);
}

TEST_CASE("only one has the lock at a time, and it ends with whoever holds it") {
  const ScratchFolder folder;
  {
    const Result<SglangMarker> first = SglangMarker::Take(folder.path(), 0, {});
    REQUIRE_OK(first);
    CHECK_FAILS(SglangMarker::Take(folder.path(), 0, {}), ErrorKind::kBusy, folder.path());
    CHECK_FAILS(SglangMarker::Take(folder.path(), 0.05, {}), ErrorKind::kBusy, folder.path());
  }
  REQUIRE_OK(SglangMarker::Take(folder.path(), 0, {}));
}

}  // namespace wdelta
