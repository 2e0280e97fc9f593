// The tensors of a made-up model and how they lie in files: the shape of Qwen3-0.6B (310 tensors, 596,049,920 bf16
// parameters), a smaller one of the same kind, many small experts, or a few huge tensors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace bench_model {

enum class Kind { kMatrix, kEmbedding, kNorm };

struct Tensor {
  std::string name;
  Kind kind;
  uint64_t rows, columns;  // a norm has one row
  size_t shard = 0;
  uint64_t offset = 0;  // in its shard's data
  uint64_t elements() const { return rows * columns; }
  uint64_t bytes() const { return 2 * elements(); }
};

struct Shard {
  std::string header;  // with its length before it
  uint64_t data_bytes = 0;
};

struct Model {
  std::vector<Tensor> tensors;
  std::vector<Shard> shards;
  uint64_t elements = 0;
};

// `scale` below 1 takes that share of the layers and of the vocabulary.
inline std::vector<Tensor> QwenLike(double scale) {
  const auto layers = static_cast<uint64_t>(std::max(1.0, std::round(28 * scale)));
  const auto vocabulary = static_cast<uint64_t>(std::max(64.0, std::round(151936 * scale)));
  std::vector<Tensor> tensors{{"model.embed_tokens.weight", Kind::kEmbedding, vocabulary, 1024}};
  for (uint64_t layer = 0; layer < layers; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".";
    const auto add = [&](const char* name, Kind kind, uint64_t rows, uint64_t columns) {
      tensors.push_back({prefix + name + ".weight", kind, rows, columns});
    };
    add("input_layernorm", Kind::kNorm, 1, 1024);
    add("mlp.down_proj", Kind::kMatrix, 1024, 3072);
    add("mlp.gate_proj", Kind::kMatrix, 3072, 1024);
    add("mlp.up_proj", Kind::kMatrix, 3072, 1024);
    add("post_attention_layernorm", Kind::kNorm, 1, 1024);
    add("self_attn.k_norm", Kind::kNorm, 1, 128);
    add("self_attn.k_proj", Kind::kMatrix, 1024, 1024);
    add("self_attn.o_proj", Kind::kMatrix, 1024, 2048);
    add("self_attn.q_norm", Kind::kNorm, 1, 128);
    add("self_attn.q_proj", Kind::kMatrix, 2048, 1024);
    add("self_attn.v_proj", Kind::kMatrix, 1024, 1024);
  }
  tensors.push_back({"model.norm.weight", Kind::kNorm, 1, 1024});
  return tensors;
}

// Names like those of a mixture of experts, 384 experts of three matrices in each layer.
inline std::vector<Tensor> ManyExperts(uint64_t count, uint64_t rows, uint64_t columns) {
  static const char* const kParts[] = {"down_proj", "gate_proj", "up_proj"};
  std::vector<Tensor> tensors;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t expert = i / 3;
    tensors.push_back({"model.layers." + std::to_string(expert / 384) + ".mlp.experts." + std::to_string(expert % 384) +
                           "." + kParts[i % 3] + ".weight",
                       Kind::kMatrix, rows, columns});
  }
  return tensors;
}

// Tensors of 256 MiB, after one of more than 2^31 elements where there is room: `bytes` in all, to the MiB.
inline std::vector<Tensor> Huge(uint64_t bytes) {
  constexpr uint64_t kColumns = 4096, kRowBytes = 2 * kColumns;
  const uint64_t giant = (uint64_t{4} << 30) + (uint64_t{1} << 20);
  std::vector<Tensor> tensors;
  for (uint64_t left = bytes >> 20 << 20; left > 0;) {
    const bool first = tensors.empty() && left > giant;
    const uint64_t take = first ? giant : std::min(left, uint64_t{256} << 20);
    const std::string number = std::to_string(10000 + tensors.size()).substr(1);
    tensors.push_back({"model.huge." + number + ".weight", Kind::kMatrix, take / kRowBytes, kColumns});
    left -= take;
  }
  return tensors;
}

inline std::string HeaderOf(const std::vector<Tensor>& tensors, size_t begin, size_t end) {
  std::string json = R"({"__metadata__":{"format":"pt"})";
  for (size_t i = begin; i < end; ++i) {
    const Tensor& tensor = tensors[i];
    const std::string shape = tensor.kind == Kind::kNorm
                                  ? std::to_string(tensor.columns)
                                  : std::to_string(tensor.rows) + "," + std::to_string(tensor.columns);
    json += ",\"" + tensor.name + R"(":{"dtype":"BF16","shape":[)" + shape + R"(],"data_offsets":[)" +
            std::to_string(tensor.offset) + "," + std::to_string(tensor.offset + tensor.bytes()) + "]}";
  }
  json += "}";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  const uint64_t length = json.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + json;
}

// Lays the tensors out in order, in at most `shards` files of about the same size; a tensor is never cut.
inline Model LayOut(std::vector<Tensor> tensors, uint64_t shards) {
  Model model;
  uint64_t total = 0, placed = 0;
  for (const Tensor& tensor : tensors) total += tensor.bytes();
  size_t begin = 0;
  uint64_t offset = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].shard = model.shards.size();
    tensors[i].offset = offset;
    offset += tensors[i].bytes();
    placed += tensors[i].bytes();
    model.elements += tensors[i].elements();
    const auto due =
        static_cast<double>(total) / static_cast<double>(shards) * static_cast<double>(model.shards.size() + 1);
    if (i + 1 == tensors.size() || (static_cast<double>(placed) >= due && model.shards.size() + 1 < shards)) {
      model.shards.push_back({HeaderOf(tensors, begin, i + 1), offset});
      begin = i + 1;
      offset = 0;
    }
  }
  model.tensors = std::move(tensors);
  return model;
}

}  // namespace bench_model
