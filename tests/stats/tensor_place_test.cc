#include <doctest/doctest.h>

#include "wdelta.h"

namespace wdelta {
namespace {

void CheckPlace(std::string_view name, const std::string& layer, const std::string& module,
                std::optional<uint64_t> expert = std::nullopt) {
  CAPTURE(name);
  const TensorPlace place = PlaceOf(name);
  CHECK(place.layer_name == layer);
  CHECK(place.module == module);
  CHECK(place.expert == expert);
  CHECK(place.layer.has_value() == !place.stack.empty());
}

TEST_CASE("the names of Llama, Qwen, DeepSeek and Mixtral fall into layers, modules and experts") {
  CheckPlace("model.layers.12.self_attn.q_proj.weight", "model.layers.12", "self_attn.q_proj");
  CheckPlace("model.layers.12.self_attn.q_proj.bias", "model.layers.12", "self_attn.q_proj");
  CheckPlace("model.layers.0.input_layernorm.weight", "model.layers.0", "input_layernorm");
  CheckPlace("model.embed_tokens.weight", "model.embed_tokens", "model.embed_tokens");
  CheckPlace("lm_head.weight", "lm_head", "lm_head");
  CheckPlace("model.layers.61.mlp.experts.255.down_proj.weight", "model.layers.61", "mlp.experts.down_proj", 255);
  CheckPlace("model.layers.3.mlp.experts.7.up_proj.weight_scale_inv", "model.layers.3", "mlp.experts.up_proj", 7);
  CheckPlace("model.layers.3.mlp.shared_experts.up_proj.weight", "model.layers.3", "mlp.shared_experts.up_proj");
  CheckPlace("model.layers.3.mlp.gate.e_score_correction_bias", "model.layers.3", "mlp.gate");
  CheckPlace("model.layers.3.self_attn.kv_a_proj_with_mqa.weight", "model.layers.3", "self_attn.kv_a_proj_with_mqa");
  CheckPlace("model.layers.1.block_sparse_moe.experts.0.w1.weight", "model.layers.1", "block_sparse_moe.experts.w1", 0);
  CheckPlace("model.layers.1.block_sparse_moe.gate.weight", "model.layers.1", "block_sparse_moe.gate");
  CheckPlace("model.layers.4.mlp.experts.gate_up_proj", "model.layers.4", "mlp.experts.gate_up_proj");
}

TEST_CASE("other names are taken by their dots") {
  CheckPlace("transformer.h.11.attn.c_attn.weight", "transformer.h.11", "attn.c_attn");
  CheckPlace("model.visual.blocks.3.attn.qkv.weight", "model.visual.blocks.3", "attn.qkv");
  CheckPlace("embed", "embed", "embed");
  CheckPlace("block.alpha", "block.alpha", "block.alpha");
  CheckPlace("", "", "");
  CheckPlace("...", "...", "...");
  CheckPlace("a.0", "a.0", "a.0");
  CheckPlace("0.weight", "0", "0");
  CheckPlace("x.99999999999999999999999.y", "x.99999999999999999999999.y", "x.99999999999999999999999.y");
  CheckPlace("x.-1.y", "x.-1.y", "x.-1.y");
  CheckPlace("experts.3.w1.weight", "experts.w1", "experts.w1", 3);
}

TEST_CASE("the stack is what its layers share") {
  CHECK(PlaceOf("model.layers.12.mlp.up_proj.weight").stack == "model.layers");
  CHECK(PlaceOf("model.layers.12.mlp.up_proj.weight").layer == 12);
  CHECK(PlaceOf("lm_head.weight").stack.empty());
}

TensorStats Expert(uint64_t layer, uint64_t number, const char* part, uint64_t changed) {
  TensorStats tensor;
  tensor.name =
      "model.layers." + std::to_string(layer) + ".mlp.experts." + std::to_string(number) + "." + part + ".weight";
  tensor.elements = 10;
  tensor.elements_changed = changed;
  tensor.kind = changed ? ChangeKind::kChanged : ChangeKind::kSame;
  tensor.place = PlaceOf(tensor.name);
  return tensor;
}

TEST_CASE("an expert is untouched if all its tensors are, and counts once in a layer") {
  const std::vector<TensorStats> tensors = {Expert(0, 0, "up_proj", 0), Expert(0, 0, "down_proj", 3),
                                            Expert(0, 1, "up_proj", 0), Expert(0, 1, "down_proj", 0),
                                            Expert(1, 0, "up_proj", 1), Expert(1, 0, "down_proj", 1)};
  const GroupRow all = Group(tensors, GroupBy::kWhole).at(0);
  CHECK(all.experts_total == 3);
  CHECK(all.experts_touched == 2);
  const std::vector<GroupRow> layers = Group(tensors, GroupBy::kLayer);
  REQUIRE(layers.size() == 2);
  CHECK(layers[0].experts_total == 2);
  CHECK(layers[0].experts_touched == 1);
  const std::vector<GroupRow> modules = Group(tensors, GroupBy::kModule);
  REQUIRE(modules.size() == 2);
  CHECK(modules[0].name == "mlp.experts.up_proj");
  CHECK(modules[0].experts_total == 3);
  CHECK(modules[0].experts_touched == 1);
}

TEST_CASE("experts that are stacked in one tensor are counted by its slices") {
  TensorStats up, down;
  up.name = "model.layers.0.mlp.experts.gate_up_proj";
  down.name = "model.layers.0.mlp.experts.down_proj";
  up.tally.emplace().expert_touched = {true, false, false};
  down.tally.emplace().expert_touched = {true, true, false};
  for (TensorStats* tensor : {&up, &down}) tensor->place = PlaceOf(tensor->name);
  const GroupRow all = Group(std::vector{up, down}, GroupBy::kWhole).at(0);
  CHECK(all.experts_total == 3);
  CHECK(all.experts_touched == 2);
}

}  // namespace
}  // namespace wdelta
