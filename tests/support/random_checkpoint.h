// Checkpoints made for tests: small ones by hand, and random ones that hold everything that is allowed and awkward.
#pragma once

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/safetensors.h"
#include "support/scratch_folder.h"

namespace wdelta {

struct MadeTensor {
  std::string name;
  Dtype dtype = Dtype::kBF16;
  std::vector<uint64_t> shape;
  Bytes data;
};

struct MadeShard {
  std::string name = "model.safetensors";
  std::vector<MadeTensor> tensors;
  std::vector<std::pair<std::string, std::string>> metadata;
  unsigned padding = 0;  // spaces at the end of the header, beyond what alignment asks for
};

struct MadeCheckpoint {
  bool lone_file = false;  // then there is one shard and no companion
  bool with_index = false;
  std::vector<MadeShard> shards;
  std::map<std::string, std::string> companions;
};

// A file's bytes.
std::string SafetensorsText(const MadeShard& shard);
void WriteCheckpoint(const ScratchFolder& folder, std::string_view name, const MadeCheckpoint& checkpoint);
// The text of an index for these shards.
std::string IndexText(const std::vector<MadeShard>& shards);

// A BF16 vector whose elements all differ.
MadeTensor Ramp(const std::string& name, uint64_t elements, uint16_t first = 0x3c00);

// Everything random in the tests comes from one of these, so that a seed repeats it.
class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  uint64_t Below(uint64_t limit) { return limit ? engine_() % limit : 0; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  uint64_t Bits() { return engine_(); }
  template <class T>
  const T& Pick(const std::vector<T>& from) {
    return from[Below(from.size())];
  }

 private:
  std::mt19937_64 engine_;
};

Bytes RandomBytes(Dice& dice, size_t count);

// Any dtype, any form, any number of shards; tensors of more than a block are rare.
MadeCheckpoint RandomCheckpoint(Dice& dice);
// A later version of it: some tensors changed a little, some wholly, some added, removed, reshaped, retyped, moved to
// other shards; metadata, headers, companions changed. Perhaps nothing at all.
MadeCheckpoint RandomSuccessor(Dice& dice, const MadeCheckpoint& before);

}  // namespace wdelta
