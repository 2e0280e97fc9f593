// What must hold for the formats of other systems, whatever the checkpoints: each leads to the very result, converted
// or not, applied twice or once.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>

#include "support/expect.h"
#include "support/random_checkpoint.h"
#include "wdelta.h"

namespace wdelta {
namespace {

struct Form {
  const char* name;
  PackRequest request;
};

std::vector<Form> AllForms() {
  std::vector<Form> forms(8);
  const char* const names[] = {"wdp", "plain", "xor", "adler", "overwrite", "skyrl", "trl", "trl_raw"};
  for (size_t i = 0; i < forms.size(); ++i) forms[i].name = names[i];
  forms[1].request.format = "plain";
  for (const size_t i : {2, 3, 4}) forms[i].request.format = "canonical";
  forms[3].request.checksum = "adler32";
  forms[4].request.encoding = "overwrite";
  forms[5].request.format = "skyrl";
  for (const size_t i : {6, 7}) forms[i].request.format = "trl";
  forms[7].request.encoding = "raw";
  return forms;
}

// The same tensors with some elements changed; all BF16 in some rounds, so that TRL has its share.
MadeCheckpoint RandomStep(Dice& dice, MadeCheckpoint made) {
  for (MadeShard& shard : made.shards) {
    for (MadeTensor& tensor : shard.tensors) {
      if (tensor.data.empty() || dice.OneIn(3)) continue;
      const uint64_t changes = dice.OneIn(4) ? tensor.data.size() : 1 + dice.Below(20);
      for (uint64_t i = 0; i < changes; ++i) {
        tensor.data[dice.Below(tensor.data.size())] ^= static_cast<uint8_t>(1 + dice.Below(255));
      }
    }
  }
  return made;
}

MadeCheckpoint RandomBf16(Dice& dice) {
  MadeCheckpoint made;
  made.shards.resize(1 + dice.Below(2));
  for (size_t shard = 0; shard < made.shards.size(); ++shard) {
    made.shards[shard].name = "m-" + std::to_string(shard) + ".safetensors";
    for (uint64_t i = 0; i < 1 + dice.Below(4); ++i) {
      const uint64_t elements = dice.OneIn(5) ? 700'000 : dice.Below(2000);
      MadeTensor tensor{"t" + std::to_string(shard) + "." + std::to_string(i), Dtype::kBF16, {elements}, {}};
      tensor.data = RandomBytes(dice, 2 * elements);
      made.shards[shard].tensors.push_back(std::move(tensor));
    }
  }
  return made;
}

TEST_CASE("every format leads to the very result, through every other, and twice as once") {
  const uint64_t first_seed = std::random_device{}();
  std::printf("formats: 40 rounds from seed %llu\n", static_cast<unsigned long long>(first_seed));
  for (uint64_t round = 0; round < 40; ++round) {
    const uint64_t seed = first_seed + round;
    CAPTURE(seed);
    Dice dice(seed);
    const ScratchFolder folder;
    const MadeCheckpoint before = dice.OneIn(2) ? RandomBf16(dice) : RandomCheckpoint(dice);
    WriteCheckpoint(folder, "a", before);
    WriteCheckpoint(folder, "b", RandomStep(dice, before));
    const auto expected = folder.TreeOf("b");
    const auto apply_to = [&](const char* base, const std::string& delta) {
      REQUIRE_OK(
          Apply({.base = folder / base, .deltas = {folder / delta}, .output = folder / "out", .durable = false}, {}));
      const bool is_right = folder.TreeOf("out") == expected;
      folder.Remove("out");
      return is_right;
    };
    std::vector<std::string> made;
    for (const Form& form : AllForms()) {
      CAPTURE(std::string(form.name));
      PackRequest request = form.request;
      request.inputs = {folder / "a", folder / "b"};
      request.output = folder / form.name;
      const Result<PackReport> packed = Pack(request, {});
      if (!packed.ok()) {  // what it cannot say
        CHECK(packed.error().kind == ErrorKind::kRefused);
        continue;
      }
      made.emplace_back(form.name);
      CHECK(apply_to("a", form.name));
      CHECK(apply_to("b", form.name));
    }
    CHECK(made.size() >= 4);
    const std::string from = dice.Pick(made);
    for (const Form& form : AllForms()) {
      if (std::find(made.begin(), made.end(), form.name) == made.end()) continue;
      CAPTURE(from);
      CAPTURE(std::string(form.name));
      PackRequest request = form.request;
      request.inputs = {folder / from};
      request.base = folder / "a";
      request.output = folder / "converted";
      REQUIRE_OK(Pack(request, {}));
      const bool is_same = folder.TreeOf("converted") == folder.TreeOf(form.name);
      CHECK(is_same);
      CHECK(apply_to("a", "converted"));
      folder.Remove("converted");
    }
  }
}

TEST_CASE("a long row of deltas leads to its end from every one of its states, and from a mixture of them") {
  const uint64_t seed = std::random_device{}();
  std::printf("rows of deltas: seed %llu\n", static_cast<unsigned long long>(seed));
  CAPTURE(seed);
  Dice dice(seed);
  const ScratchFolder folder;
  constexpr size_t kSteps = 20;
  MadeCheckpoint model;
  for (const char* shard : {"m-0.safetensors", "m-1.safetensors", "m-2.safetensors"}) {
    MadeTensor tensor{std::string("of ") + shard, Dtype::kBF16, {4000}, RandomBytes(dice, 8000)};
    model.shards.push_back({shard, {std::move(tensor)}, {}, 0});
  }
  const auto name = [](const char* kind, size_t step) { return kind + std::to_string(step); };
  WriteCheckpoint(folder, "s0", model);
  std::vector<std::string> deltas;
  for (size_t step = 1; step <= kSteps; ++step) {
    model = RandomStep(dice, model);
    WriteCheckpoint(folder, name("s", step), model);
    PackRequest request{.inputs = {folder / name("s", step - 1), folder / name("s", step)}, .format = "canonical"};
    request.encoding = dice.OneIn(2) ? "xor" : "overwrite";
    request.version = std::to_string(step);
    request.base_version = std::to_string(step - 1);
    request.output = deltas.emplace_back(folder / name("d", step));
    REQUIRE_OK(Pack(request, {}));
  }
  const auto last = folder.TreeOf(name("s", kSteps));
  for (size_t step = 0; step <= kSteps; ++step) {
    CAPTURE(step);
    REQUIRE_OK(Apply({.base = folder / name("s", step), .deltas = deltas, .output = folder / "out", .durable = false},
                     {.threads = 2}));
    CHECK(folder.TreeOf("out") == last);
    folder.Remove("out");
  }
  for (const MadeShard& shard : model.shards) {  // each tensor from another state
    folder.Write("mixed/" + shard.name, folder.Read(name("s", dice.Below(kSteps + 1)) + "/" + shard.name));
  }
  REQUIRE_OK(Apply({.base = folder / "mixed", .deltas = deltas, .in_place = true, .durable = false}, {}));
  CHECK(folder.TreeOf("mixed") == last);
}

}  // namespace
}  // namespace wdelta
