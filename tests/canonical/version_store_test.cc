#include "canonical/version_store.h"

#include "support/expect.h"
#include "support/memory_remote.h"
#include "support/scratch_folder.h"

namespace wdelta {

namespace {

void Put(MemoryStore& store, const std::string& key, const std::string& text) {
  const ByteSpan bytes = AsBytes(text);
  store.Put(key, Bytes(bytes.begin(), bytes.end()));
}

std::string DeltaIndex(const std::string& version, const std::string& base, const std::string& shard) {
  return R"({"metadata": {"version": ")" + version + R"(", "base_version": ")" + base +
         R"(", "delta_encoding": "xor"}, "weight_map": {"w": ")" + shard + R"("}})";
}

std::string IndexKey(const std::string& folder) {
  return folder + "/" + kIndexFile;
}

// Version 1 is whole, 2 and 3 are deltas.
std::shared_ptr<MemoryStore> MadeStore() {
  auto store = std::make_shared<MemoryStore>();
  Put(*store, "latest", "run7/weight_v000003");
  Put(*store, "updates/weight_v000001/m.safetensors", "whole");
  Put(*store, "updates/weight_v000001/tokenizer/vocab.txt", "words");
  Put(*store, "updates/weight_v000001/SHA256SUMS", "sums");
  Put(*store, IndexKey("updates/weight_v000001"), R"({"weight_map": {"w": "m.safetensors"}})");
  for (const char* version : {"000002", "000003"}) {
    const std::string folder = std::string("updates/weight_v") + version;
    Put(*store, folder + "/d.safetensors", "delta");
    Put(*store, folder + "/SHA256SUMS", "sums");
    Put(*store, IndexKey(folder), DeltaIndex(version, version[5] == '2' ? "000001" : "000002", "d.safetensors"));
  }
  return store;
}

struct OpenStore {
  std::shared_ptr<MemoryStore> memory = MadeStore();
  std::unique_ptr<Remote> remote = OpenMemoryRemote(memory);
  VersionStore store{*remote};
};

std::vector<std::string> NamesOf(const std::vector<VersionFile>& files) {
  std::vector<std::string> names;
  for (const VersionFile& file : files) names.push_back(file.name);
  return names;
}

}  // namespace

TEST_CASE("the pointer is one request, and an empty store has none") {
  OpenStore made;
  made.memory->ForgetCalls();
  const Result<LatestVersion> latest = made.store.FindLatest();
  REQUIRE_OK(latest);
  CHECK(latest->pointer == VersionPointer{"run7", 3});
  CHECK_FALSE(latest->etag.empty());
  CHECK(made.memory->Calls() == 1);
  made.memory->Erase("latest");
  const Result<std::optional<LatestVersion>> none = made.store.ReadPointer();
  REQUIRE_OK(none);
  CHECK_FALSE(none->has_value());
}

TEST_CASE("a pointer that cannot be read is named with its address, and no listing stands in for it") {
  OpenStore made;
  for (const std::string& text : {std::string(), std::string("nonsense"), std::string(5000, '7')}) {
    Put(*made.memory, "latest", text);
    CHECK_FAILS(made.store.FindLatest(), ErrorKind::kIntegrity, made.remote->url() + "/latest");
  }
}

TEST_CASE("without a pointer the newest version with an index counts, under updates/ or at the root") {
  OpenStore made;
  made.memory->Erase("latest");
  Put(*made.memory, "updates/weight_v000004/d.safetensors", "not done");
  Put(*made.memory, "updates/weight_v9/" + std::string(kIndexFile), "no such name");
  Put(*made.memory, "updates/weight_v000009", "no folder");
  Result<LatestVersion> latest = made.store.FindLatest();
  REQUIRE_OK(latest);
  CHECK(latest->pointer == VersionPointer{"", 3});
  CHECK(latest->etag.empty());
  CHECK(made.store.KeyOf(3, "x") == "updates/weight_v000003/x");

  const auto memory = std::make_shared<MemoryStore>();
  for (const char* version : {"000999", "001000"}) {
    Put(*memory, IndexKey(std::string("weight_v") + version), DeltaIndex(version, "000001", "d.safetensors"));
  }
  const std::unique_ptr<Remote> remote = OpenMemoryRemote(memory);
  VersionStore store(*remote);
  latest = store.FindLatest();
  REQUIRE_OK(latest);
  CHECK(latest->pointer.version == 1000);
  CHECK(store.KeyOf(1000, "x") == "weight_v001000/x");
  REQUIRE_OK(store.ReadIndex(1000));
}

TEST_CASE("more versions than a listing shows at once are all seen") {
  const auto memory = std::make_shared<MemoryStore>();
  for (uint64_t version = 1; version <= 1300; ++version) {
    Put(*memory, IndexKey(VersionFolder(version)), "{}");
    Put(*memory, VersionFolder(version) + "/d.safetensors", "");
  }
  const std::unique_ptr<Remote> remote = OpenMemoryRemote(memory);
  const Result<LatestVersion> latest = VersionStore(*remote).FindLatest();
  REQUIRE_OK(latest);
  CHECK(latest->pointer.version == 1300);
}

TEST_CASE("a store with nothing in it is not found") {
  const std::unique_ptr<Remote> remote = OpenMemoryRemote(std::make_shared<MemoryStore>());
  CHECK_FAILS(VersionStore(*remote).FindLatest(), ErrorKind::kNotFound, "no versions");
}

TEST_CASE("the index of a delta has to be that of its version, and its base an earlier one") {
  OpenStore made;
  REQUIRE_OK(made.store.ReadIndex(2));
  CHECK(made.store.ReadIndex(2)->is_delta());
  REQUIRE_OK(made.store.ReadIndex(1));
  CHECK_FALSE(made.store.ReadIndex(1)->is_delta());
  CHECK_FAILS(made.store.ReadIndex(4), ErrorKind::kNotFound, "000004");
  const std::string key = IndexKey("updates/weight_v000002");
  for (const auto& [version, base] :
       {std::pair("000003", "000001"), std::pair("", "000001"), std::pair("000002", ""), std::pair("000002", "000002"),
        std::pair("000002", "000003"), std::pair("000002", "x"), std::pair("000002", "-1")}) {
    Put(*made.memory, key, DeltaIndex(version, base, "d.safetensors"));
    CHECK_FAILS(made.store.ReadIndex(2), ErrorKind::kIntegrity, "000002");
  }
  for (const char* text : {"", "{", "[]", "{}"}) {
    Put(*made.memory, key, text);
    CHECK_FAILS(made.store.ReadIndex(2), ErrorKind::kIntegrity, "cannot be read");
  }
}

TEST_CASE(
    "a delta has its shards, their checksums and its index, a whole version all that is there, and the index comes "
    "last") {
  OpenStore made;
  Result<std::vector<VersionFile>> files = made.store.FilesOf(2, *made.store.ReadIndex(2));
  REQUIRE_OK(files);
  CHECK(NamesOf(*files) == std::vector<std::string>{"d.safetensors", "SHA256SUMS", kIndexFile});
  CHECK((*files)[0].bytes == 5);
  files = made.store.FilesOf(1, *made.store.ReadIndex(1));
  REQUIRE_OK(files);
  CHECK(NamesOf(*files) == std::vector<std::string>{"SHA256SUMS", "m.safetensors", "tokenizer/vocab.txt", kIndexFile});
  made.memory->Erase("updates/weight_v000002/d.safetensors");
  CHECK_FAILS(made.store.FilesOf(2, *made.store.ReadIndex(2)), ErrorKind::kNotFound, "d.safetensors");
}

TEST_CASE("a shard whose name leads elsewhere is refused before anything is asked of the store") {
  OpenStore made;
  for (const char* name : {"../weight_v000001/m.safetensors", "/etc/passwd", "a/b.safetensors", "..", ""}) {
    CanonicalIndex index;
    index.metadata["delta_encoding"] = "xor";
    index.weight_map["w"] = name;
    made.memory->ForgetCalls();
    CHECK_FAILS(made.store.FilesOf(2, index), ErrorKind::kRefused, "");
    CHECK(made.memory->Calls() == 0);
  }
}

TEST_CASE("files are fetched once, again if they have changed, and those that are here cost next to nothing") {
  OpenStore made;
  const ScratchFolder folder;
  const std::string big(3'000'000, 'x');
  Put(*made.memory, "updates/weight_v000001/m.safetensors", big);
  const Result<std::vector<VersionFile>> files = made.store.FilesOf(1, *made.store.ReadIndex(1));
  REQUIRE_OK(files);
  uint64_t total = 0, wire = 0;
  for (const VersionFile& file : *files) total += file.bytes;
  REQUIRE_OK(made.store.Fetch(1, *files, folder / "v", 2, {}, &wire));
  CHECK(wire == total);
  CHECK(folder.Read("v/m.safetensors") == big);
  CHECK(folder.Read("v/tokenizer/vocab.txt") == "words");
  wire = 0;
  REQUIRE_OK(made.store.Fetch(1, *files, folder / "v", 2, {}, &wire));
  CHECK(wire <= files->size());
  Put(*made.memory, "updates/weight_v000001/tokenizer/vocab.txt", "other");  // as long as before
  folder.Remove("v/SHA256SUMS");
  REQUIRE_OK(made.store.Fetch(1, *files, folder / "v", 2, {}, &wire));
  CHECK(folder.Read("v/tokenizer/vocab.txt") == "other");
  CHECK(folder.Read("v/SHA256SUMS") == "sums");
  CHECK(folder.Read("v/m.safetensors") == big);
}

TEST_CASE("a file of several pieces is put together, and one that is not there is not found") {
  OpenStore made;
  const ScratchFolder folder;
  std::string big((20 << 20) + 17, 'a');
  for (size_t i = 0; i < big.size(); i += 4099) big[i] = static_cast<char>(i);
  Put(*made.memory, "updates/weight_v000002/d.safetensors", big);
  uint64_t wire = 0;
  REQUIRE_OK(made.store.Fetch(2, {{"d.safetensors", big.size()}}, folder / "v", 3, {}, &wire));
  CHECK(folder.Read("v/d.safetensors") == big);
  CHECK(wire == big.size());
  CHECK_FAILS(made.store.Fetch(2, {{"e.safetensors", 1}}, folder / "v", 3, {}, &wire), ErrorKind::kNotFound, "");
}

TEST_CASE("only who saw where the pointer stood moves it") {
  OpenStore made;
  const Result<std::optional<LatestVersion>> before = made.store.ReadPointer();
  REQUIRE_OK(before);
  CHECK(*made.store.MovePointer(*before, {"run7", 4}, false) == true);
  CHECK(*made.store.MovePointer(*before, {"run7", 5}, false) == false);
  CHECK(*made.store.MovePointer(std::nullopt, {"run7", 5}, false) == false);
  CHECK(made.store.FindLatest()->pointer == VersionPointer{"run7", 4});
  CHECK(*made.store.MovePointer(*before, {"run7", 6}, true) == true);
  CHECK(made.store.FindLatest()->pointer == VersionPointer{"run7", 6});
  made.memory->Erase("latest");
  CHECK(*made.store.MovePointer(std::nullopt, {"new", 1}, false) == true);
  CHECK(AsText(made.memory->Objects().at("latest").bytes) == "new/weight_v000001");
}

TEST_CASE("another mark means another version, and what is gone has none") {
  OpenStore made;
  int64_t now = 1000;
  made.memory->SetClock([&] { return now; });
  const std::string key = IndexKey("updates/weight_v000002"), text = DeltaIndex("000002", "000001", "d.safetensors");
  Put(*made.memory, key, text);
  const std::string mark = *made.store.MarkOf(2);
  CHECK_FALSE(mark.empty());
  CHECK(*made.store.MarkOf(2) == mark);
  now = 1001;
  Put(*made.memory, key, text);
  CHECK(*made.store.MarkOf(2) != mark);
  made.memory->Erase(key);
  CHECK(made.store.MarkOf(2)->empty());
}

TEST_CASE("the keys of a version are its own, and not those of one whose number begins the same way") {
  OpenStore made;
  Put(*made.memory, "updates/weight_v0000021/d.safetensors", "x");
  const Result<std::vector<std::string>> keys = made.store.KeysOf(2);
  REQUIRE_OK(keys);
  CHECK(*keys == std::vector<std::string>{"updates/weight_v000002/SHA256SUMS", "updates/weight_v000002/d.safetensors",
                                          IndexKey("updates/weight_v000002")});
  CHECK(made.store.KeysOf(9)->empty());
}

}  // namespace wdelta
