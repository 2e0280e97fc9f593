// Makes a pair of checkpoints, BASE and NEW, as one step of training leaves them: normal weights with scales by row;
// the chance that a weight changes halves with each octave of |w|, since an update of nearly constant size has to cross
// a step of the bf16 grid, which doubles there; a change is mostly one step of the bit pattern; most rows of the
// embedding are idle. The bytes depend on the seed and the options alone, never on the number of threads: every
// random number is a hash of (seed, tensor, element). Prints one JSON object about what it made.
//
//   generate [--out-base PATH] [--out-new PATH] [options]     PATH: a folder, or one file NAME.safetensors
//     --seed N --threads N --scale X (share of layers and vocabulary) --shards N
//     --density X          share of the weights that change, default 0.01; above 0.4 no row is idle
//     --config             also write config.json and the like into the folders
//     --tensors N          N small tensors (--rows, --columns) in place of the Qwen3-0.6B shape
//     --dense              NEW is an unrelated model;  --same: NEW is BASE
//     --sparse-file BYTES  a pair of that size made of holes, with a page of weights here and there
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>

#include "model_shape.h"
#include "workbench.h"

namespace {

using bench_model::Kind;
using bench_model::Model;
using bench_model::Tensor;

constexpr uint64_t kBlock = 1 << 19;             // elements in a piece of work: 1 MiB
constexpr uint64_t kPage = 2048;                 // elements in a page
constexpr uint64_t kPageEvery = (64 << 20) / 2;  // sparse: a page of weights every 64 MiB
constexpr double kActiveRows = 0.03;             // of the embedding
constexpr double kChangeCeiling = 0.8;           // of the chance of change, for the tiniest weights
constexpr double kEverywhere = 0.4;              // from this density on: no idle rows, and no ceiling

// The finisher of SplitMix64: good bits from a plain counter.
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
uint64_t HashOf(uint64_t key, uint64_t counter) {
  return Mix(key + counter * 0x9e3779b97f4a7c15u);
}

// Normal deviates from 32 random bits: quantiles by table, straight lines between them.
class NormalTable {
 public:
  NormalTable() {
    for (size_t i = 0; i <= kCells; ++i) {
      double low = -4.2, high = 4.2;
      for (int round = 0; round < 60; ++round) {
        const double middle = (low + high) / 2;
        (0.5 * std::erfc(-middle / std::sqrt(2.0)) * kCells < static_cast<double>(i) ? low : high) = middle;
      }
      quantiles_[i] = static_cast<float>(low);
    }
  }
  float operator()(uint32_t bits) const {
    const uint32_t cell = bits >> kFractionBits;
    const float fraction = static_cast<float>(bits & ((1u << kFractionBits) - 1)) * (1.0f / (1u << kFractionBits));
    return quantiles_[cell] + fraction * (quantiles_[cell + 1] - quantiles_[cell]);
  }

 private:
  static constexpr uint32_t kFractionBits = 21, kCells = 1u << (32 - kFractionBits);
  std::array<float, kCells + 1> quantiles_;
};
const NormalTable kNormal;

uint16_t ToBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// One seeded set of weights for a tensor. The lower half of an element's hash is its weight; the upper half is left to
// the question whether it changes.
class Weights {
 public:
  Weights(uint64_t seed, uint64_t number, const Tensor& tensor)
      : key_(HashOf(HashOf(seed, 1), number)), row_key_(HashOf(key_, ~uint64_t{0})), tensor_(tensor) {
    const float spread = std::exp2(0.5f * kNormal(static_cast<uint32_t>(row_key_)));
    scale_ = tensor.kind == Kind::kNorm ? 0.15f : 0.025f * spread;
  }
  float RowScale(uint64_t row) const {
    if (tensor_.kind == Kind::kNorm) return scale_;
    return scale_ * std::exp2(0.5f * kNormal(static_cast<uint32_t>(HashOf(row_key_, row))));
  }
  bool RowIsActive(uint64_t row) const {
    if (tensor_.kind != Kind::kEmbedding) return true;
    return static_cast<double>(HashOf(row_key_, row) >> 32) < kActiveRows * 0x1p32;
  }
  uint64_t Random(uint64_t element) const { return HashOf(key_, element); }
  uint16_t Value(uint64_t random, float row_scale) const {
    const float center = tensor_.kind == Kind::kNorm ? 1.0f : 0.0f;
    return ToBf16(center + row_scale * kNormal(static_cast<uint32_t>(random)));
  }

 private:
  uint64_t key_, row_key_;
  const Tensor& tensor_;
  float scale_;
};

// The chance of change for each exponent, as a threshold for 32 random bits.
using Thresholds = std::array<uint64_t, 256>;

Thresholds ThresholdsFor(double rate, double ceiling) {
  Thresholds thresholds;
  for (int exponent = 0; exponent < 256; ++exponent) {
    const double chance = std::min(ceiling, rate * std::exp2(127 - exponent));
    thresholds[exponent] = static_cast<uint64_t>(chance * 0x1p32);
  }
  return thresholds;
}

// Finds the thresholds that change a share of `density` of all weights, on a sample of every tensor.
Thresholds Calibrate(const Model& model, uint64_t seed, double density) {
  const double ceiling = density > kEverywhere ? 1 : kChangeCeiling;
  if (density >= 1) return ThresholdsFor(0x1p20, ceiling);
  std::array<double, 256> mass{};  // elements that can change, by exponent
  for (size_t number = 0; number < model.tensors.size(); ++number) {
    const Tensor& tensor = model.tensors[number];
    const Weights weights(seed, number, tensor);
    const uint64_t samples = std::min<uint64_t>(tensor.elements(), 2048);
    const double active = tensor.kind == Kind::kEmbedding && density <= kEverywhere ? kActiveRows : 1.0;
    for (uint64_t i = 0; i < samples; ++i) {
      const uint64_t element = i * (tensor.elements() / samples);
      const uint16_t value = weights.Value(weights.Random(element), weights.RowScale(element / tensor.columns));
      mass[(value >> 7) & 0xff] += active * static_cast<double>(tensor.elements()) / static_cast<double>(samples);
    }
  }
  double low = 0, high = 256;
  for (int round = 0; round < 80; ++round) {
    const double middle = (low + high) / 2;
    const Thresholds thresholds = ThresholdsFor(middle, ceiling);
    double changed = 0;
    for (int exponent = 0; exponent < 256; ++exponent) {
      changed += mass[exponent] * static_cast<double>(thresholds[exponent]) * 0x1p-32;
    }
    (changed < density * static_cast<double>(model.elements) ? low : high) = middle;
  }
  return ThresholdsFor(high, ceiling);
}

// Nine of ten changes are one step of the bit pattern, the others two or more with halving chance; the sign stays.
uint16_t Stepped(uint16_t value, uint64_t random) {
  const uint64_t bits = Mix(random + 0x632be59bd9b4e019u);
  const bool single = (bits & 0xffff) < 0xffff / 10 * 9;
  const int size = single ? 1 : 2 + __builtin_ctz(static_cast<uint32_t>(bits >> 16) | 0x1000);
  const int magnitude = value & 0x7fff;
  const bool down = (bits >> 63) != 0 && magnitude >= size;
  return static_cast<uint16_t>((value & 0x8000) | (down ? magnitude - size : magnitude + size));
}

// How NEW comes from BASE.
struct Change {
  bool same = false;
  std::optional<uint64_t> other_seed;  // an unrelated model
  bool everywhere = false;             // in idle rows too
  Thresholds thresholds{};
};

// Fills elements [begin, begin + count) of one tensor, the same on both sides without a `change`; returns how many
// differ.
uint64_t Fill(const Weights& weights, const Tensor& tensor, const Change* change, uint64_t begin, uint64_t count,
              uint16_t* base, uint16_t* next) {
  uint64_t changed = 0;
  for (uint64_t done = 0; done < count;) {
    const uint64_t row = (begin + done) / tensor.columns;
    const uint64_t end = std::min(count, (row + 1) * tensor.columns - begin);
    const float scale = weights.RowScale(row);
    const bool active = change != nullptr && (change->everywhere || weights.RowIsActive(row));
    for (; done < end; ++done) {
      const uint64_t random = weights.Random(begin + done);
      base[done] = next[done] = weights.Value(random, scale);
      if (active && (random >> 32) < change->thresholds[(base[done] >> 7) & 0xff]) {
        next[done] = Stepped(base[done], random);
        ++changed;
      }
    }
  }
  return changed;
}

// One side of the pair: where its shards lie.
struct Side {
  std::vector<std::string> paths;

  // Makes the files with their headers; the data are holes until they are written.
  Side(const std::string& place, const Model& model) {
    const bool is_file = place.size() > 12 && place.ends_with(".safetensors");
    if (is_file && model.shards.size() > 1) workbench::Die("several shards need a folder, not '" + place + "'");
    if (!is_file) std::filesystem::create_directories(place);
    for (size_t i = 0; i < model.shards.size(); ++i) {
      std::string path = is_file ? place : place + "/model.safetensors";
      if (model.shards.size() > 1) {
        char name[64];
        std::snprintf(name, sizeof name, "/model-%05zu-of-%05zu.safetensors", i + 1, model.shards.size());
        path = place + name;
      }
      const workbench::OpenFile file(path, O_WRONLY | O_CREAT | O_TRUNC);
      file.Resize(model.shards[i].header.size() + model.shards[i].data_bytes);
      file.Write(model.shards[i].header.data(), model.shards[i].header.size(), 0);
      paths.push_back(path);
    }
    if (model.shards.size() > 1) WriteIndex(place, model);
  }
  void WriteIndex(const std::string& folder, const Model& model) const {
    std::ofstream out(folder + "/model.safetensors.index.json");
    out << "{\n  \"metadata\": {\"total_size\": " << 2 * model.elements << "},\n  \"weight_map\": {";
    for (size_t i = 0; i < model.tensors.size(); ++i) {
      const std::string& path = paths[model.tensors[i].shard];
      out << (i == 0 ? "\n    \"" : ",\n    \"") << model.tensors[i].name << "\": \""
          << path.substr(path.rfind('/') + 1) << '"';
    }
    out << "\n  }\n}\n";
  }
};

void WriteCompanions(const std::string& folder, double scale) {
  std::ofstream(folder + "/config.json")
      << "{\n  \"architectures\": [\"Qwen3ForCausalLM\"],\n  \"hidden_size\": 1024,\n  \"num_hidden_layers\": "
      << std::max(1.0, std::round(28 * scale))
      << ",\n  \"tie_word_embeddings\": true,\n  \"torch_dtype\": \"bfloat16\"\n}\n";
  std::ofstream(folder + "/generation_config.json") << "{\n  \"temperature\": 0.6,\n  \"top_p\": 0.95\n}\n";
  std::ofstream(folder + "/tokenizer_config.json") << "{\n  \"model_max_length\": 131072\n}\n";
  std::ofstream(folder + "/tokenizer.json") << "{\n  \"version\": \"1.0\",\n  \"model\": {\"type\": \"BPE\"}\n}\n";
}

struct Piece {
  size_t tensor;
  uint64_t begin, count;
};

std::vector<Piece> PiecesOf(const Model& model, bool sparse) {
  std::vector<Piece> pieces;
  for (size_t i = 0; i < model.tensors.size(); ++i) {
    const uint64_t elements = model.tensors[i].elements();
    for (uint64_t at = 0; at < elements; at += sparse ? kPageEvery : kBlock) {
      pieces.push_back({i, at, std::min(elements - at, sparse ? kPage : kBlock)});
    }
  }
  return pieces;
}

}  // namespace

int main(int argc, char** argv) {
  const workbench::Options options(argc, argv,
                                   {"out-base", "out-new", "seed", "threads", "scale", "shards", "density", "tensors",
                                    "rows", "columns", "sparse-file"},
                                   {"config", "dense", "same"});
  const auto whole = [&](const char* name, double otherwise) {
    return static_cast<uint64_t>(options.Number(name, otherwise));
  };
  const uint64_t seed = whole("seed", 1);
  const double scale = options.Number("scale", 1);
  const bool sparse = options.Has("sparse-file");
  std::vector<Tensor> tensors =
      sparse                   ? bench_model::Huge(whole("sparse-file", 0))
      : options.Has("tensors") ? bench_model::ManyExperts(whole("tensors", 1), whole("rows", 8), whole("columns", 8))
                               : bench_model::QwenLike(scale);
  if (tensors.empty()) workbench::Die("no tensors: '--sparse-file' is at least 1048576, '--tensors' at least 1");
  const Model model = bench_model::LayOut(std::move(tensors), std::max<uint64_t>(1, whole("shards", 1)));

  Change change;
  change.same = options.Has("same");
  if (options.Has("dense")) change.other_seed = HashOf(seed, 2);
  const double density = options.Number("density", 0.01);
  change.everywhere = density > kEverywhere;
  if (!change.same && !change.other_seed) change.thresholds = Calibrate(model, seed, density);

  std::vector<std::pair<Side, bool>> sides;  // and whether it is NEW
  for (const char* name : {"out-base", "out-new"}) {
    if (!options.Has(name)) continue;
    sides.emplace_back(Side(options.Text(name), model), std::string(name) == "out-new");
    if (options.Has("config")) WriteCompanions(options.Text(name), scale);
  }
  if (sides.empty()) workbench::Die("name '--out-base', '--out-new' or both");

  struct Scratch {
    workbench::PageBuffer base{2 * kBlock}, next{2 * kBlock};
    uint64_t changed = 0;
  };
  const unsigned threads = workbench::ThreadCount(options);
  std::vector<Scratch> scratch(threads);
  const std::vector<Piece> pieces = PiecesOf(model, sparse);
  workbench::RunCrew(threads, pieces.size(), [&](unsigned worker, uint64_t index) {
    Scratch& mine = scratch[worker];
    const Piece& piece = pieces[index];
    const Tensor& tensor = model.tensors[piece.tensor];
    const uint64_t at = model.shards[tensor.shard].header.size() + tensor.offset + 2 * piece.begin;
    uint16_t* const base = reinterpret_cast<uint16_t*>(mine.base.For(at));
    uint16_t* const next = reinterpret_cast<uint16_t*>(mine.next.For(at));
    const Change* steps = change.same || change.other_seed ? nullptr : &change;
    mine.changed += Fill(Weights(seed, piece.tensor, tensor), tensor, steps, piece.begin, piece.count, base, next);
    if (change.other_seed) {
      std::vector<uint16_t> ignored(piece.count);
      Fill(Weights(*change.other_seed, piece.tensor, tensor), tensor, nullptr, piece.begin, piece.count, next,
           ignored.data());
      for (uint64_t i = 0; i < piece.count; ++i) mine.changed += base[i] != next[i];
    }
    for (const auto& [side, is_new] : sides) {
      // Opened anew for each piece: a thousand shards would be more descriptors than a process may hold.
      const workbench::OpenFile file(side.paths[tensor.shard], O_WRONLY);
      file.Write(is_new ? next : base, 2 * piece.count, at);
    }
  });
  uint64_t changed = 0;
  for (const Scratch& each : scratch) changed += each.changed;
  std::printf("{\"tensors\": %zu, \"shards\": %zu, \"elements\": %llu, \"changed\": %llu, \"density\": %.6f}\n",
              model.tensors.size(), model.shards.size(), static_cast<unsigned long long>(model.elements),
              static_cast<unsigned long long>(changed),
              static_cast<double>(changed) / static_cast<double>(model.elements));
}
