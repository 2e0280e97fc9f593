// What must hold for any checkpoints whatever, tried on random ones. Each round has a seed of its own, which is printed
// when it fails: WDELTA_TEST_SEED=SEED WDELTA_TEST_ROUNDS=1 repeats that round alone.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <random>

#include "codec/codec.h"
#include "support/expect.h"
#include "support/random_checkpoint.h"
#include "wdelta.h"

namespace wdelta {
namespace {

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// Three checkpoints, each made from the one before, and the calls that the laws are about.
struct Round {
  explicit Round(uint64_t seed) : dice(seed) {
    made_a = RandomCheckpoint(dice);
    made_b = RandomSuccessor(dice, made_a);
    made_c = RandomSuccessor(dice, made_b);
    WriteCheckpoint(folder, "a", made_a);
    WriteCheckpoint(folder, "b", made_b);
    WriteCheckpoint(folder, "c", made_c);
    a = folder.TreeOf("a");
    b = folder.TreeOf("b");
    c = folder.TreeOf("c");
  }

  PackReport Pack(PackRequest request, const std::string& output, unsigned threads = 2) {
    for (std::string& input : request.inputs) input = folder / input;
    if (!request.base.empty()) request.base = folder / request.base;
    request.output = folder / output;
    auto report = wdelta::Pack(request, {.threads = threads});
    REQUIRE_OK(report);
    return *report;
  }
  void PackPair(const std::string& base, const std::string& next, const std::string& output, unsigned threads = 2) {
    Pack({.inputs = {base, next}}, output, threads);
  }
  void Diff(const std::string& base, const std::string& next, const std::string& output, unsigned threads = 2) {
    REQUIRE_OK(
        wdelta::Diff({.base = folder / base, .next = folder / next, .output = folder / output}, {.threads = threads}));
  }
  Result<ApplyReport> TryApply(const std::string& base, std::vector<std::string> deltas, bool in_place,
                               unsigned threads = 2) {
    for (std::string& delta : deltas) delta = folder / delta;
    return wdelta::Apply({.base = folder / base,
                          .deltas = deltas,
                          .output = in_place ? "" : folder / "out",
                          .in_place = in_place,
                          .durable = false},
                         {.threads = threads});
  }
  // Applies to a new place, looks at what is there, and removes it.
  Tree Apply(const std::string& base, const std::vector<std::string>& deltas, bool* already_applied = nullptr,
             unsigned threads = 2) {
    const auto report = TryApply(base, deltas, false, threads);
    REQUIRE_OK(report);
    if (already_applied) *already_applied = report->already_applied;
    const Tree tree = folder.TreeOf("out");
    folder.Remove("out");
    return tree;
  }

  ScratchFolder folder;
  Dice dice;
  MadeCheckpoint made_a, made_b, made_c;
  Tree a, b, c;
};

// Trees may hold megabytes: a failure shall not print them.
#define CHECK_SAME_TREE(found, expected)                                    \
  do {                                                                      \
    const Tree found_tree = (found), expected_tree = (expected);            \
    INFO("found ", Names(found_tree), ", expected ", Names(expected_tree)); \
    const bool trees_are_equal = found_tree == expected_tree;               \
    CHECK(trees_are_equal);                                                 \
  } while (false)
#define CHECK_SAME_BYTES(round, first, second)                                              \
  do {                                                                                      \
    const bool files_are_equal = (round).folder.Read(first) == (round).folder.Read(second); \
    INFO((first), " and ", (second));                                                       \
    CHECK(files_are_equal);                                                                 \
  } while (false)

void ForEachRound(const char* law, uint64_t rounds, const std::function<void(Round&)>& check) {
  const uint64_t seed = FromEnvironment("WDELTA_TEST_SEED", std::random_device{}());
  rounds = FromEnvironment("WDELTA_TEST_ROUNDS", rounds);
  std::printf("%s: %llu rounds from seed %llu\n", law, static_cast<unsigned long long>(rounds),
              static_cast<unsigned long long>(seed));
  for (uint64_t i = 0; i < rounds; ++i) {
    CAPTURE(seed + i);
    Round round(seed + i);
    check(round);
  }
}

TEST_CASE("a pack and a plain delta rebuild every file of the new checkpoint") {
  ForEachRound("rebuild", 60, [](Round& round) {
    round.PackPair("a", "b", "ab.wdp");
    CHECK_SAME_TREE(round.Apply("a", {"ab.wdp"}), round.b);
    round.Diff("a", "b", "ab.safetensors");
    CHECK_SAME_TREE(round.Apply("a", {"ab.safetensors"}), round.b);
    round.Pack({.inputs = {"ab.safetensors"}, .base = "a"}, "again.wdp");
    CHECK_SAME_BYTES(round, "again.wdp", "ab.wdp");
    CHECK_SAME_TREE(round.folder.TreeOf("a"), round.a);
  });
}

TEST_CASE("the checkpoint that a pack leads to, and the base it was made for, verify against it") {
  ForEachRound("verify", 25, [](Round& round) {
    const PackReport packed = round.Pack({.inputs = {"a", "b"}}, "ab.wdp");
    const auto result = Verify({.target = round.folder / "b", .against = round.folder / "ab.wdp"}, {});
    REQUIRE_OK(result);
    CHECK(result->identity.state == packed.result.state);
    REQUIRE_OK(Verify({.target = round.folder / "ab.wdp", .against = round.folder / "a"}, {}));
    const auto base = Verify({.target = round.folder / "a", .against = round.folder / "ab.wdp"}, {});
    CHECK(base.ok() == (packed.base.state == packed.result.state));
  });
}

TEST_CASE("applying what is already applied succeeds, says so, and changes nothing") {
  ForEachRound("twice", 40, [](Round& round) {
    const PackReport packed = round.Pack({.inputs = {"a", "b"}}, "ab.wdp");
    const bool is_step = packed.base.state != packed.result.state;
    bool already_applied = false;
    CHECK_SAME_TREE(round.Apply("b", {"ab.wdp"}, &already_applied), round.b);
    CHECK(already_applied == is_step);
    if (round.made_b.lone_file && !round.made_a.lone_file) return;  // in place: another test's matter
    const auto again = round.TryApply("b", {"ab.wdp"}, true);
    REQUIRE_OK(again);
    CHECK(again->already_applied == is_step);
    CHECK_SAME_TREE(round.folder.TreeOf("b"), round.b);
  });
}

TEST_CASE("a chain in one call equals its links one after the other, and squashing it equals packing its ends") {
  ForEachRound("chain", 60, [](Round& round) {
    round.PackPair("a", "b", "ab.wdp");
    round.PackPair("b", "c", "bc.wdp");
    round.PackPair("a", "c", "ac.wdp");
    round.Diff("b", "c", "bc.safetensors");
    CHECK_SAME_TREE(round.Apply("b", {"bc.wdp"}), round.c);
    CHECK_SAME_TREE(round.Apply("a", {"ab.wdp", "bc.wdp"}), round.c);
    CHECK_SAME_TREE(round.Apply("a", {"ab.wdp", "bc.safetensors"}), round.c);
    CHECK_SAME_TREE(round.Apply("b", {"ab.wdp", "bc.wdp"}), round.c);  // the first link is applied already
    CHECK_SAME_TREE(round.Apply("c", {"ab.wdp", "bc.wdp"}), round.c);  // and now both
    round.Pack({.inputs = {"ab.wdp", "bc.wdp"}, .base = "a"}, "squashed.wdp");
    CHECK_SAME_BYTES(round, "squashed.wdp", "ac.wdp");
    round.Pack({.inputs = {"ab.wdp", "bc.safetensors"}, .base = "a"}, "mixed.wdp");
    CHECK_SAME_BYTES(round, "mixed.wdp", "ac.wdp");
  });
}

TEST_CASE("there and back again is nothing") {
  ForEachRound("back", 25, [](Round& round) {
    round.PackPair("a", "b", "ab.wdp");
    round.PackPair("b", "a", "ba.wdp");
    CHECK_SAME_TREE(round.Apply("a", {"ab.wdp", "ba.wdp"}), round.a);
    CHECK_SAME_TREE(round.Apply("b", {"ba.wdp", "ab.wdp"}), round.b);
    round.PackPair("a", "a", "aa.wdp");
    round.Pack({.inputs = {"ab.wdp", "ba.wdp"}, .base = "a"}, "squashed.wdp");
    CHECK_SAME_BYTES(round, "squashed.wdp", "aa.wdp");
  });
}

TEST_CASE("the number of threads shows in no byte") {
  ForEachRound("threads", 25, [](Round& round) {
    for (const unsigned threads : {1u, 2u, 5u}) {
      const std::string n = std::to_string(threads);
      round.PackPair("a", "b", n + ".wdp", threads);
      round.Diff("a", "b", n + ".safetensors", threads);
      CHECK_SAME_TREE(round.Apply("a", {n + ".wdp"}, nullptr, threads), round.b);
      CHECK_SAME_BYTES(round, n + ".wdp", "1.wdp");
      CHECK_SAME_BYTES(round, n + ".safetensors", "1.safetensors");
    }
  });
}

// A folder can become a lone file in place: the folder then holds it under the name that lone files go by.
Tree AsLeftInFolder(const MadeCheckpoint& result, const Tree& tree) {
  if (!result.lone_file) return tree;
  return {{"model.safetensors", tree.at("")}};
}

// The files of a tree: patching in place may leave a folder empty that held a companion.
Tree FilesOf(Tree tree) {
  std::erase_if(tree, [](const auto& entry) { return entry.first.ends_with("/"); });
  return tree;
}

TEST_CASE("in place gives the same files as a new output") {
  ForEachRound("in place", 60, [](Round& round) {
    round.PackPair("a", "b", "ab.wdp");
    round.PackPair("b", "c", "bc.wdp");
    const auto check = [&](std::vector<std::string> deltas, const MadeCheckpoint& made, const Tree& expected) {
      round.folder.Copy("a", "patched");
      const auto report = round.TryApply("patched", deltas, true);
      const bool fits = !round.made_a.lone_file || made.lone_file ||
                        (made.shards.size() == 1 && made.shards[0].name == "model.safetensors" && expected.size() == 1);
      if (fits) {
        REQUIRE_OK(report);
        const Tree tree =
            round.made_a.lone_file ? Tree{{"", expected.begin()->second}} : AsLeftInFolder(made, expected);
        CHECK_SAME_TREE(FilesOf(round.folder.TreeOf("patched")), FilesOf(tree));
      } else {
        CHECK_FAILS(report, ErrorKind::kRefused, "is one file");
        CHECK_SAME_TREE(round.folder.TreeOf("patched"), round.a);
      }
      round.folder.Remove("patched");
      CHECK(round.folder.TreeOf().size() == round.a.size() + round.b.size() + round.c.size() + 2 +
                                                !round.made_a.lone_file + !round.made_b.lone_file +
                                                !round.made_c.lone_file);
    };
    check({"ab.wdp"}, round.made_b, round.b);
    check({"ab.wdp", "bc.wdp"}, round.made_c, round.c);
  });
}

TEST_CASE("an anchor rebuilds its checkpoint from nothing, and from any other") {
  ForEachRound("anchor", 25, [](Round& round) {
    round.Pack({.inputs = {"b"}, .anchor = true}, "b.wdp");
    CHECK_SAME_TREE(round.Apply("b.wdp", {}), round.b);
    CHECK_SAME_TREE(round.Apply("a", {"b.wdp"}), round.b);
    REQUIRE_OK(Verify({.target = round.folder / "b.wdp"}, {}));
    round.PackPair("b", "c", "bc.wdp");
    round.PackPair("a", "b", "ab.wdp");
    CHECK_SAME_TREE(round.Apply("b.wdp", {"bc.wdp"}), round.c);
    round.Pack({.inputs = {"b.wdp"}, .base = "a"}, "again.wdp");
    CHECK_SAME_BYTES(round, "again.wdp", "ab.wdp");
  });
}

TEST_CASE("every codec and every level rebuilds the same") {
  ForEachRound("codecs", 20, [](Round& round) {
    for (const Codec& codec : CodecTable()) {
      CAPTURE(codec.name);
      round.Pack({.inputs = {"a", "b"}, .codec = std::string(codec.name)}, "forced.wdp");
      CHECK_SAME_TREE(round.Apply("a", {"forced.wdp"}), round.b);
    }
    for (const Level level : {Level::kFast, Level::kMax}) {
      round.Pack({.inputs = {"a", "b"}, .level = level}, "level.wdp");
      CHECK_SAME_TREE(round.Apply("a", {"level.wdp"}), round.b);
    }
  });
}

TEST_CASE("a delta counts what a comparison without it counts") {
  ForEachRound("counts", 25, [](Round& round) {
    const DiffRequest request{.base = round.folder / "a", .next = round.folder / "b"};
    const auto diff = Diff(request, {});
    REQUIRE_OK(diff);
    const PackReport packed = round.Pack({.inputs = {"a", "b"}}, "ab.wdp");
    CHECK(diff->totals.elements_changed == packed.totals.elements_changed);
    CHECK(diff->totals.elements_total == packed.totals.elements_total);
    CHECK(diff->totals.tensors_changed == packed.totals.tensors_changed);
    CHECK(diff->totals.tensors_added == packed.totals.tensors_added);
    CHECK(diff->totals.tensors_removed == packed.totals.tensors_removed);
    CHECK(diff->totals.files_changed == packed.totals.files_changed);
    const auto listed = Cat({.subject = round.folder / "ab.wdp"}, {});
    REQUIRE_OK(listed);
    uint64_t changed = 0, same = 0;
    for (const TensorChange& tensor : diff->tensors) (tensor.kind == ChangeKind::kSame ? same : changed) += 1;
    CHECK(listed->tensors.size() == changed);
    CHECK(listed->result.state == packed.result.state);
  });
}

TEST_CASE("a pack given another base rebuilds its result all the same, or refuses and leaves nothing behind") {
  ForEachRound("wrong base", 40, [](Round& round) {
    round.PackPair("a", "b", "ab.wdp");
    const Tree before = round.folder.TreeOf();
    const auto report = round.TryApply("c", {"ab.wdp"}, false);
    if (report.ok()) {  // c may hold all that the delta needs: the result is right even so
      CHECK_SAME_TREE(round.folder.TreeOf("out"), round.b);
      return;
    }
    CHECK(report.error().kind == ErrorKind::kConflict);
    CHECK_SAME_TREE(round.folder.TreeOf(), before);
  });
}

}  // namespace
}  // namespace wdelta
