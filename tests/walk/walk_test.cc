// The walks from end to end, on cases made by hand. What holds for any checkpoint is in laws_test.cc.
#include "walk/walk.h"

#include <sys/stat.h>
#include <unistd.h>

#include "support/expect.h"
#include "support/random_checkpoint.h"
#include "wdelta.h"

namespace wdelta {
namespace {

MadeCheckpoint Model(uint16_t step = 0) {
  MadeCheckpoint made;
  made.with_index = true;
  made.shards = {{"model-1.safetensors", {Ramp("embed", 300), Ramp("layers.0", 64)}, {{"format", "pt"}}, 0},
                 {"model-2.safetensors", {Ramp("layers.1", 64), Ramp("norm", 8)}, {{"format", "pt"}}, 0}};
  made.companions["config.json"] = "{\"step\": " + std::to_string(step) + "}";
  Store<uint16_t>(made.shards[0].tensors[0].data.data() + 10, step);
  Store<uint16_t>(made.shards[1].tensors[0].data.data() + 20, step);
  return made;
}

// A folder with some versions of a model, and calls with names relative to it.
struct Bench {
  void Add(const std::string& name, const MadeCheckpoint& made) { WriteCheckpoint(folder, name, made); }
  Result<PackReport> Pack(const std::string& base, const std::string& next, const std::string& output,
                          const Context& context = {.threads = 2}, const FileChoice& files = {}) {
    return wdelta::Pack({.inputs = {folder / base, folder / next}, .output = folder / output, .files = files}, context);
  }
  Result<ApplyReport> Apply(const std::string& base, std::vector<std::string> deltas, const std::string& output = "out",
                            const Context& context = {.threads = 2}) {
    for (std::string& delta : deltas) delta = folder / delta;
    return wdelta::Apply({.base = folder / base, .deltas = deltas, .output = folder / output, .durable = false},
                         context);
  }
  Result<ApplyReport> ApplyInPlace(const std::string& base, const std::string& delta) {
    return wdelta::Apply({.base = folder / base, .deltas = {folder / delta}, .in_place = true, .durable = false}, {});
  }
  ScratchFolder folder;
};

TEST_CASE("a wrong base is a conflict that names the first tensor that differs, and no output appears") {
  Bench bench;
  bench.Add("a", Model(1));
  bench.Add("b", Model(2));
  MadeCheckpoint other = Model(1);
  other.shards[0].tensors[1].data[7] ^= 4;  // layers.0, which the pack does not touch
  other.shards[1].tensors[1].data[3] ^= 4;  // norm
  bench.Add("other", other);
  REQUIRE_OK(bench.Pack("a", "b", "ab.wdp"));
  const Tree before = bench.folder.TreeOf();
  const auto applied = bench.Apply("other", {"ab.wdp"});
  CHECK_FAILS(applied, ErrorKind::kConflict, "first difference: layers.0");
  CHECK(applied.error().tensor == "layers.0");
  CHECK(applied.error().expected == Verify({.target = bench.folder / "a"}, {})->identity.fingerprint);
  CHECK(applied.error().found == Verify({.target = bench.folder / "other"}, {})->identity.fingerprint);
  CHECK(bench.folder.TreeOf() == before);
  CHECK_FAILS(bench.ApplyInPlace("other", "ab.wdp"), ErrorKind::kConflict, "first difference: layers.0");
  CHECK(bench.folder.TreeOf() == before);
  const auto packed =
      Pack({.inputs = {bench.folder / "ab.wdp"}, .base = bench.folder / "other", .output = bench.folder / "x.wdp"}, {});
  CHECK_FAILS(packed, ErrorKind::kConflict, "first difference: layers.0");
  const auto verified = Verify({.target = bench.folder / "ab.wdp", .against = bench.folder / "other"}, {});
  CHECK_FAILS(verified, ErrorKind::kConflict, "first difference: layers.0");
  CHECK(bench.folder.TreeOf() == before);
}

TEST_CASE("a wrong base whose changed tensor differs is a conflict, too") {
  Bench bench;
  bench.Add("a", Model(1));
  bench.Add("b", Model(2));
  bench.Add("c", Model(3));
  REQUIRE_OK(bench.Pack("a", "b", "ab.wdp"));
  const auto applied = bench.Apply("c", {"ab.wdp"});
  CHECK_FAILS(applied, ErrorKind::kConflict, "first difference: embed");
  CHECK_FALSE(bench.folder.Exists("out"));
}

TEST_CASE("a base with other tensors is a conflict that says so") {
  Bench bench;
  bench.Add("a", Model(1));
  bench.Add("b", Model(2));
  MadeCheckpoint fewer = Model(1);
  fewer.shards[1].tensors.pop_back();
  bench.Add("fewer", fewer);
  REQUIRE_OK(bench.Pack("a", "b", "ab.wdp"));
  CHECK_FAILS(bench.Apply("fewer", {"ab.wdp"}), ErrorKind::kConflict, "");
  CHECK_FALSE(bench.folder.Exists("out"));
}

TEST_CASE("a base with the right tensors in other files is a base") {
  Bench bench;
  bench.Add("a", Model(1));
  bench.Add("b", Model(2));
  MadeCheckpoint one_file = Model(1);
  MadeShard all{"all.safetensors", {}, {}, 3};
  for (const MadeShard& shard : one_file.shards)
    all.tensors.insert(all.tensors.begin(), shard.tensors.begin(), shard.tensors.end());
  one_file.shards = {all};
  bench.Add("one", one_file);
  // The pack must bring what this base does not have: then any base of these tensors will do.
  MadeCheckpoint next = Model(2);
  next.shards[0].metadata.emplace_back("step", "2");
  next.shards[1].metadata.emplace_back("step", "2");
  next.with_index = false;
  bench.Add("b2", next);
  REQUIRE_OK(bench.Pack("a", "b2", "ab2.wdp"));
  REQUIRE_OK(bench.Apply("one", {"ab2.wdp"}));
  CHECK(bench.folder.TreeOf("out") == bench.folder.TreeOf("b2"));
  // And where a header is to come from the base, its absence is a conflict.
  REQUIRE_OK(bench.Pack("a", "b", "ab.wdp"));
  CHECK_FAILS(bench.Apply("one", {"ab.wdp"}, "out2"), ErrorKind::kConflict, "neither in the delta nor in the base");
}

TEST_CASE("a chain with a missing link is not found, whatever the order") {
  Bench bench;
  for (uint16_t i = 0; i < 4; ++i) bench.Add(std::to_string(i), Model(i));
  for (int i = 0; i < 3; ++i)
    REQUIRE_OK(bench.Pack(std::to_string(i), std::to_string(i + 1), std::to_string(i) + ".wdp"));
  CHECK_FAILS(bench.Apply("0", {"0.wdp", "2.wdp"}), ErrorKind::kNotFound, "a delta is missing");
  CHECK_FAILS(bench.Apply("0", {"1.wdp", "0.wdp"}), ErrorKind::kNotFound, "a delta is missing");
  CHECK_FAILS(bench.Apply("0", {"nothing.wdp"}), ErrorKind::kNotFound, "nothing.wdp");
  CHECK_FALSE(bench.folder.Exists("out"));
  REQUIRE_OK(bench.Apply("0", {"0.wdp", "1.wdp", "2.wdp"}));
  CHECK(bench.folder.TreeOf("out") == bench.folder.TreeOf("3"));
}

TEST_CASE("a step that only changes config.json is a step") {
  Bench bench;
  MadeCheckpoint made = Model(1);
  bench.Add("a", made);
  made.companions["config.json"] = "{\"step\": 99}";
  bench.Add("b", made);
  const auto packed = bench.Pack("a", "b", "ab.wdp");
  REQUIRE_OK(packed);
  CHECK(packed->totals.elements_changed == 0);
  CHECK(packed->totals.files_changed == 1);
  CHECK(packed->base.fingerprint == packed->result.fingerprint);
  CHECK(packed->base.state != packed->result.state);
  const auto diff = Diff({.base = bench.folder / "a", .next = bench.folder / "b"}, {});
  REQUIRE_OK(diff);
  CHECK(diff->different());
  REQUIRE(diff->files.size() == 1);
  CHECK(diff->files[0].path == "config.json");
  CHECK_FALSE(diff->files[0].is_header);
  const auto applied = bench.Apply("a", {"ab.wdp"});
  REQUIRE_OK(applied);
  CHECK_FALSE(applied->already_applied);
  CHECK(bench.folder.TreeOf("out") == bench.folder.TreeOf("b"));
  REQUIRE_OK(bench.ApplyInPlace("a", "ab.wdp"));
  CHECK(bench.folder.TreeOf("a") == bench.folder.TreeOf("b"));
}

TEST_CASE("a step that only changes the metadata of a header is a step") {
  Bench bench;
  MadeCheckpoint made = Model(1);
  bench.Add("a", made);
  made.shards[1].metadata.emplace_back("epoch", "2");
  bench.Add("b", made);
  const auto diff = Diff({.base = bench.folder / "a", .next = bench.folder / "b"}, {});
  REQUIRE_OK(diff);
  CHECK(diff->totals.elements_changed == 0);
  REQUIRE(diff->files.size() == 1);
  CHECK(diff->files[0].path == "model-2.safetensors");
  CHECK(diff->files[0].is_header);
  REQUIRE_OK(bench.Pack("a", "b", "ab.wdp"));
  REQUIRE_OK(bench.Apply("a", {"ab.wdp"}));
  CHECK(bench.folder.TreeOf("out") == bench.folder.TreeOf("b"));
  REQUIRE_OK(bench.ApplyInPlace("a", "ab.wdp"));
  CHECK(bench.folder.TreeOf("a") == bench.folder.TreeOf("b"));
}

TEST_CASE("a step that only moves tensors to other shards carries none of them") {
  Bench bench;
  MadeCheckpoint made = Model(1);
  bench.Add("a", made);
  std::swap(made.shards[0].tensors[0], made.shards[1].tensors[0]);
  bench.Add("b", made);
  const auto packed = bench.Pack("a", "b", "ab.wdp");
  REQUIRE_OK(packed);
  CHECK(packed->totals.elements_changed == 0);
  CHECK(packed->base.fingerprint == packed->result.fingerprint);
  CHECK(Cat({.subject = bench.folder / "ab.wdp"}, {})->tensors.empty());
  REQUIRE_OK(bench.Apply("a", {"ab.wdp"}));
  CHECK(bench.folder.TreeOf("out") == bench.folder.TreeOf("b"));
}

TEST_CASE("optimizer state beside the model changes no byte of the pack and is named in a note") {
  Bench bench;
  bench.Add("a", Model(1));
  bench.Add("b", Model(2));
  REQUIRE_OK(bench.Pack("a", "b", "plain.wdp"));
  const std::string state(4 * 900, 'o');
  std::string notes;
  Context context{.threads = 2};
  context.note = [&](const std::string& note) { notes += note + "\n"; };
  for (const char* name : {"a", "b"}) bench.folder.Write(std::string(name) + "/optimizer.pt", state + name);
  REQUIRE_OK(bench.Pack("a", "b", "with_state.wdp", context));
  CHECK(bench.folder.Read("with_state.wdp") == bench.folder.Read("plain.wdp"));
  CHECK(notes.find("optimizer.pt") != std::string::npos);
  MadeShard moments{"", {Ramp("embed", 1200)}, {}, 0};  // the same names as in the model
  for (const char* name : {"a", "b"})
    bench.folder.Write(std::string(name) + "/optimizer.safetensors", SafetensorsText(moments));
  REQUIRE_OK(bench.Pack("a", "b", "with_tensors.wdp", context));
  CHECK(bench.folder.Read("with_tensors.wdp") == bench.folder.Read("plain.wdp"));
  CHECK(notes.find("optimizer.safetensors") != std::string::npos);
}

TEST_CASE("the choice of companions travels with the pack") {
  Bench bench;
  MadeCheckpoint made = Model(1);
  made.companions["notes.rst"] = "same";
  made.companions["README.md"] = "one";
  bench.Add("a", made);
  made.companions["README.md"] = "two";
  bench.Add("b", made);
  const FileChoice files{{"*.rst"}, {"*.md"}};
  const auto packed = bench.Pack("a", "b", "ab.wdp", {}, files);
  REQUIRE_OK(packed);
  CHECK(packed->totals.files_changed == 0);
  REQUIRE_OK(bench.Apply("a", {"ab.wdp"}));
  CHECK(bench.folder.Exists("out/notes.rst"));
  CHECK_FALSE(bench.folder.Exists("out/README.md"));
}

TEST_CASE("a source that changes while it is read is a conflict, and no output appears") {
  for (const char* changed : {"a/model-2.safetensors", "b/model-1.safetensors", "b/config.json"}) {
    for (const bool plain : {false, true}) {
      CAPTURE(changed);
      Bench bench;
      bench.Add("a", Model(1));
      bench.Add("b", Model(2));
      const Tree before = bench.folder.TreeOf();
      bool done = false;
      Context context{.threads = 2};
      context.progress = [&](const Progress&) {
        if (!std::exchange(done, true))
          REQUIRE(File::OpenForUpdate(bench.folder / changed)->WriteAt(0, AsBytes(bench.folder.Read(changed))).ok());
      };
      if (plain) {
        CHECK_FAILS(
            Diff({.base = bench.folder / "a", .next = bench.folder / "b", .output = bench.folder / "d"}, context),
            ErrorKind::kConflict, "changed while it was read");
      } else {
        CHECK_FAILS(bench.Pack("a", "b", "d", context), ErrorKind::kConflict, "changed while it was read");
      }
      CHECK(done);
      CHECK(bench.folder.TreeOf() == before);
    }
  }
}

TEST_CASE("a base that changes while it is applied to is a conflict, and no output appears") {
  Bench bench;
  bench.Add("a", Model(1));
  bench.Add("b", Model(2));
  REQUIRE_OK(bench.Pack("a", "b", "ab.wdp"));
  Context context{.threads = 2};
  context.progress = [&](const Progress& progress) {
    if (progress.done_bytes == progress.total_bytes) bench.folder.Write("a/config.json", "{}");
  };
  CHECK_FAILS(bench.Apply("a", {"ab.wdp"}, "out", context), ErrorKind::kConflict, "changed while it was read");
  CHECK_FALSE(bench.folder.Exists("out"));
}

TEST_CASE("a snapshot of the Hugging Face cache is a base for a new output, and never patched in place") {
  Bench bench;
  bench.Add("a", Model(1));
  bench.Add("b", Model(2));
  REQUIRE_OK(bench.Pack("a", "b", "ab.wdp"));
  bench.folder.Write("hub/snapshots/c0ffee/.keep", "");
  bench.folder.Write("hub/blobs/.keep", "");
  int number = 0;
  for (const auto& [path, content] : bench.folder.TreeOf("a")) {
    const std::string blob = std::to_string(number++);
    bench.folder.Write("hub/blobs/" + blob, content);
    REQUIRE(symlink(("../../blobs/" + blob).c_str(), (bench.folder / ("hub/snapshots/c0ffee/" + path)).c_str()) == 0);
  }
  const Tree hub = bench.folder.TreeOf("hub");
  REQUIRE_OK(bench.Apply("hub/snapshots/c0ffee", {"ab.wdp"}));
  CHECK(bench.folder.TreeOf("out") == bench.folder.TreeOf("b"));
  CHECK_FAILS(bench.ApplyInPlace("hub/snapshots/c0ffee", "ab.wdp"), ErrorKind::kRefused, "is a symbolic link");
  CHECK(bench.folder.TreeOf("hub") == hub);
}

TEST_CASE("a pipe in the place of a checkpoint or a delta is refused without waiting") {
  Bench bench;
  bench.Add("a", Model(1));
  REQUIRE(mkfifo((bench.folder / "pipe").c_str(), 0600) == 0);
  CHECK_FAILS(bench.Pack("a", "pipe", "x.wdp"), ErrorKind::kRefused, "not a regular file");
  CHECK_FAILS(bench.Apply("a", {"pipe"}), ErrorKind::kRefused, "not a regular file");
  CHECK_FAILS(Verify({.target = bench.folder / "pipe"}, {}), ErrorKind::kRefused, "not a regular file");
  CHECK_FAILS(Cat({.subject = bench.folder / "pipe"}, {}), ErrorKind::kRefused, "not a regular file");
}

TEST_CASE("the blocks of a walk come in the order of the files, and empty tensors have none") {
  const ScratchFolder folder;
  MadeCheckpoint made;
  made.shards = {
      {"a.safetensors",
       {{"z", Dtype::kU8, {kBlockBytes + 1}, Bytes(kBlockBytes + 1)}, {"empty", Dtype::kU8, {0}, {}}, Ramp("m", 2)},
       {},
       0},
      {"b.safetensors", {Ramp("a", 2)}, {}, 0}};
  WriteCheckpoint(folder, "m", made);
  const auto checkpoint = Checkpoint::Open(folder / "m", {}, [](const std::string&) {});
  REQUIRE_OK(checkpoint);
  const BlockOrder order(checkpoint->tensors());
  REQUIRE(order.count() == 4);
  CHECK(order.bytes() == kBlockBytes + 1 + 8);
  const std::pair<const char*, uint64_t> expected[] = {{"z", 0}, {"z", 1}, {"m", 0}, {"a", 0}};
  for (uint64_t n = 0; n < 4; ++n) {
    CHECK(checkpoint->tensors()[order[n].tensor].name == expected[n].first);
    CHECK(order[n].number == expected[n].second);
  }
}

TEST_CASE("progress only rises and ends at the total") {
  Bench bench;
  bench.Add("a", Model(1));
  bench.Add("b", Model(2));
  uint64_t last = 0, total = 0;
  Context context{.threads = 2};
  context.progress = [&](const Progress& progress) {
    CHECK(progress.done_bytes >= last);
    last = progress.done_bytes;
    total = progress.total_bytes;
  };
  REQUIRE_OK(Diff({.base = bench.folder / "a", .next = bench.folder / "b"}, context));
  CHECK(last == total);
  CHECK(total == 2 * (300 + 64 + 64 + 8));
}

TEST_CASE("requests that make no sense are told so") {
  Bench bench;
  bench.Add("a", Model(1));
  bench.Add("b", Model(2));
  REQUIRE_OK(bench.Pack("a", "b", "ab.wdp"));
  const std::string a = bench.folder / "a", ab = bench.folder / "ab.wdp", out = bench.folder / "out";
  CHECK_FAILS(Apply({.base = a, .deltas = {ab}}, {}), ErrorKind::kUsage, "");
  CHECK_FAILS(Apply({.base = a, .deltas = {ab}, .output = out, .in_place = true}, {}), ErrorKind::kUsage, "");
  CHECK_FAILS(Apply({.base = a, .deltas = {}, .output = out}, {}), ErrorKind::kUsage, "no delta");
  CHECK_FAILS(Apply({.base = ab, .deltas = {}, .output = out}, {}), ErrorKind::kUsage, "needs a base");
  CHECK_FAILS(Pack({.inputs = {a}, .output = out}, {}), ErrorKind::kUsage, "two checkpoints");
  CHECK_FAILS(Pack({.inputs = {a, a}, .anchor = true, .output = out}, {}), ErrorKind::kUsage, "one checkpoint");
  CHECK_FAILS(Pack({.inputs = {a, a}, .output = out, .codec = "best"}, {}), ErrorKind::kUsage, "no codec 'best'");
  CHECK_FAILS(Cat({.subject = a, .tensor = "nothing", .output = out}, {}), ErrorKind::kNotFound, "no tensor 'nothing'");
  CHECK_FALSE(bench.folder.Exists("out"));
}

}  // namespace
}  // namespace wdelta
