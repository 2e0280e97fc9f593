#include "support/random_checkpoint.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "core/text.h"

namespace wdelta {

std::string SafetensorsText(const MadeShard& shard) {
  std::vector<NewTensor> tensors;
  for (const MadeTensor& tensor : shard.tensors) tensors.push_back({tensor.name, tensor.dtype, tensor.shape});
  auto header = EncodeSafetensorsHeader(tensors, shard.metadata);
  if (!header.ok()) throw std::runtime_error(header.error().message);
  header->insert(header->end(), shard.padding, ' ');
  Store<uint64_t>(header->data(), header->size() - 8);
  std::string text(AsText(*header));
  for (const MadeTensor& tensor : shard.tensors) text += AsText(tensor.data);
  return text;
}

std::string IndexText(const std::vector<MadeShard>& shards) {
  std::string map;
  for (const MadeShard& shard : shards) {
    for (const MadeTensor& tensor : shard.tensors) {
      map += (map.empty() ? "" : ", ") + JsonString(tensor.name) + ": " + JsonString(shard.name);
    }
  }
  return "{\"metadata\": {\"total_size\": 0}, \"weight_map\": {" + map + "}}\n";
}

void WriteCheckpoint(const ScratchFolder& folder, std::string_view name, const MadeCheckpoint& checkpoint) {
  const std::string top(name);
  if (checkpoint.lone_file) return folder.Write(top, SafetensorsText(checkpoint.shards[0]));
  for (const MadeShard& shard : checkpoint.shards) folder.Write(top + "/" + shard.name, SafetensorsText(shard));
  for (const auto& [path, content] : checkpoint.companions) folder.Write(top + "/" + path, content);
  if (checkpoint.with_index) folder.Write(top + "/model.safetensors.index.json", IndexText(checkpoint.shards));
}

MadeTensor Ramp(const std::string& name, uint64_t elements, uint16_t first) {
  MadeTensor tensor{name, Dtype::kBF16, {elements}, {}};
  for (uint64_t i = 0; i < elements; ++i) {
    const auto pattern = static_cast<uint16_t>(first + 7 * i);
    tensor.data.push_back(static_cast<uint8_t>(pattern));
    tensor.data.push_back(static_cast<uint8_t>(pattern >> 8));
  }
  return tensor;
}

Bytes RandomBytes(Dice& dice, size_t count) {
  Bytes bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(dice.Bits());
  return bytes;
}

namespace {

const std::vector<std::string> kNames = {"",
                                         "model.embed_tokens.weight",
                                         "model.layers.0.weight",
                                         "model.layers.1.weight",
                                         "lm_head.weight",
                                         "w",
                                         "w.indices",
                                         "w.values",
                                         "a/b",
                                         "../a",
                                         "quote\"d",
                                         "back\\slash",
                                         "grüße",
                                         "\xf0\x9f\x98\x80",
                                         "new\nline",
                                         "norm",
                                         "bias",
                                         "z",
                                         "__metadata",
                                         "model.layers.10.weight"};

// Units that tools which compare numbers get wrong: zeros, infinities and NaNs of both signs, with payloads.
uint64_t AwkwardUnit(Dice& dice, unsigned unit) {
  static const std::vector<uint64_t> kTwo = {0x0000, 0x8000, 0x7f80, 0xff80, 0x7fc0,
                                             0x7fc1, 0xffc0, 0x7f81, 0x7c01, 0xfe00};
  static const std::vector<uint64_t> kFour = {0x00000000, 0x80000000, 0x7f800000, 0x7fc00000,
                                              0x7fc00001, 0xffc00000, 0x7f800001};
  static const std::vector<uint64_t> kEight = {0, uint64_t{1} << 63, 0x7ff8000000000000, 0x7ff8000000000001,
                                               0xfff8000000000000};
  return unit == 2 ? dice.Pick(kTwo) : unit == 4 ? dice.Pick(kFour) : unit == 8 ? dice.Pick(kEight) : dice.Bits();
}

void FillForm(Dice& dice, MadeTensor& tensor) {
  for (;;) {
    tensor.dtype = static_cast<Dtype>(dice.Below(kDtypeCount));
    tensor.shape.clear();
    if (dice.OneIn(60)) {  // of more than one block
      tensor.shape = {(700 << 10) + dice.Below(1 << 20)};
    } else {
      for (uint64_t rank = dice.Below(4); rank > 0; --rank) {
        tensor.shape.push_back(dice.OneIn(12) ? 0 : dice.OneIn(4) ? 1 + dice.Below(60) : 1 + dice.Below(8));
      }
    }
    const auto bytes = TensorBytes(tensor.dtype, tensor.shape);
    if (bytes && *bytes < 3 << 20) return;
  }
}

void FillData(Dice& dice, MadeTensor& tensor) {
  const size_t bytes = *TensorBytes(tensor.dtype, tensor.shape);
  if (dice.OneIn(8)) {
    tensor.data.assign(bytes, static_cast<uint8_t>(dice.Bits()));
    return;
  }
  tensor.data = RandomBytes(dice, bytes);
}

void ChangeSome(Dice& dice, MadeTensor& tensor) {
  const unsigned unit = UnitBytes(tensor.dtype);
  const uint64_t units = tensor.data.size() / unit;
  if (units == 0) return;
  for (uint64_t n = 1 + dice.Below(dice.OneIn(3) ? units : 4); n > 0; --n) {
    uint8_t* at = tensor.data.data() + dice.Below(units) * unit;
    uint64_t value = 0;
    std::copy(at, at + unit, reinterpret_cast<uint8_t*>(&value));
    value = dice.OneIn(4)   ? AwkwardUnit(dice, unit)
            : dice.OneIn(6) ? dice.Bits()
                            : value + (dice.OneIn(2) ? 1 : ~uint64_t{0});
    std::copy_n(reinterpret_cast<const uint8_t*>(&value), unit, at);
  }
}

std::vector<MadeTensor> AllTensors(const MadeCheckpoint& checkpoint) {
  std::vector<MadeTensor> all;
  for (const MadeShard& shard : checkpoint.shards) all.insert(all.end(), shard.tensors.begin(), shard.tensors.end());
  return all;
}

void AddTensor(Dice& dice, std::vector<MadeTensor>& tensors) {
  MadeTensor tensor{dice.Pick(kNames), Dtype::kU8, {}, {}};
  const auto same = [&](const MadeTensor& other) { return other.name == tensor.name; };
  if (std::any_of(tensors.begin(), tensors.end(), same)) return;
  FillForm(dice, tensor);
  FillData(dice, tensor);
  tensors.push_back(std::move(tensor));
}

// Deals the tensors out to shards.
void Spread(Dice& dice, MadeCheckpoint& checkpoint, std::vector<MadeTensor> tensors) {
  checkpoint.lone_file = dice.OneIn(4);
  checkpoint.with_index = !checkpoint.lone_file && dice.OneIn(2) && !tensors.empty();
  if (checkpoint.lone_file) checkpoint.companions.clear();
  checkpoint.shards.clear();
  const uint64_t count = checkpoint.lone_file || dice.OneIn(3) ? 1 : 2 + dice.Below(3);
  static const std::vector<std::string> kForms = {"model-0000%.safetensors", "%.safetensors", "part %.safetensors"};
  const std::string form = dice.Pick(kForms);
  for (uint64_t i = 0; i < count; ++i) {
    MadeShard shard;
    if (count > 1 || dice.OneIn(4)) shard.name = std::string(form).replace(form.find('%'), 1, std::to_string(i + 1));
    if (dice.OneIn(2)) shard.metadata.emplace_back("format", "pt");
    shard.padding = dice.OneIn(3) ? static_cast<unsigned>(dice.Below(20)) : 0;
    checkpoint.shards.push_back(std::move(shard));
  }
  for (MadeTensor& tensor : tensors) checkpoint.shards[dice.Below(count)].tensors.push_back(std::move(tensor));
  // A shard without tensors is named by no index, and then belongs to no checkpoint.
  if (checkpoint.with_index)
    std::erase_if(checkpoint.shards, [](const MadeShard& shard) { return shard.tensors.empty(); });
}

void ChangeCompanions(Dice& dice, MadeCheckpoint& checkpoint) {
  if (checkpoint.lone_file) return;
  static const std::vector<std::string> kPaths = {"config.json", "tokenizer/vocab.txt", "a/b/c.py", "README.md",
                                                  "chat.jinja"};
  for (uint64_t n = dice.Below(3); n > 0; --n) {
    const std::string& path = dice.Pick(kPaths);
    if (dice.OneIn(4)) {
      checkpoint.companions.erase(path);
    } else {
      checkpoint.companions[path] = std::string(AsText(RandomBytes(dice, dice.OneIn(5) ? 0 : dice.Below(300))));
    }
  }
}

}  // namespace

MadeCheckpoint RandomCheckpoint(Dice& dice) {
  MadeCheckpoint checkpoint;
  std::vector<MadeTensor> tensors;
  for (uint64_t n = dice.Below(9); n > 0; --n) AddTensor(dice, tensors);
  Spread(dice, checkpoint, std::move(tensors));
  ChangeCompanions(dice, checkpoint);
  return checkpoint;
}

MadeCheckpoint RandomSuccessor(Dice& dice, const MadeCheckpoint& before) {
  MadeCheckpoint after = before;
  const bool few_changes = dice.OneIn(3);
  for (MadeShard& shard : after.shards) {
    const bool may_be_empty = !after.with_index;  // an index cannot name a shard without tensors
    if (!few_changes && dice.OneIn(4) && shard.tensors.size() + may_be_empty > 1) {
      shard.tensors.erase(shard.tensors.begin() + static_cast<ptrdiff_t>(dice.Below(shard.tensors.size())));
    }
    for (MadeTensor& tensor : shard.tensors) {
      if (dice.OneIn(2)) ChangeSome(dice, tensor);
      if (few_changes) continue;
      if (dice.OneIn(10)) FillData(dice, tensor);
      if (dice.OneIn(10)) tensor.shape.insert(tensor.shape.begin(), 1);
      if (dice.OneIn(10)) FillForm(dice, tensor), FillData(dice, tensor);
      // Another type of the same width: the bytes stay.
      if (dice.OneIn(10) && tensor.dtype == Dtype::kBF16) tensor.dtype = Dtype::kF16;
    }
    if (dice.OneIn(6))
      shard.metadata.emplace_back("step" + std::to_string(shard.metadata.size()), std::to_string(dice.Below(99)));
    if (dice.OneIn(6)) shard.padding += 1;
  }
  ChangeCompanions(dice, after);
  if (!few_changes && dice.OneIn(3)) {
    std::vector<MadeTensor> tensors = AllTensors(after);
    AddTensor(dice, tensors);
    Spread(dice, after, std::move(tensors));
  }
  return after;
}

}  // namespace wdelta
