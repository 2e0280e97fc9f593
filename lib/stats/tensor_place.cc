// Where a tensor sits, told by its name alone. Llama, Qwen, DeepSeek, Mixtral and most others name their tensors alike:
// a stack of layers with a number each, in it a path of modules, among them perhaps numbered experts, and at the end
// the name of the parameter. What is named otherwise is taken by its dots.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "stats_report.h"

namespace wdelta {

namespace {

std::vector<std::string_view> SplitAtDots(std::string_view name) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= name.size(); begin += parts.back().size() + 1) {
    parts.push_back(name.substr(begin, std::min(name.find('.', begin), name.size()) - begin));
  }
  return parts;
}

std::optional<uint64_t> ParseOrdinal(std::string_view part) {
  uint64_t value = 0;
  const auto [end, failed] = std::from_chars(part.data(), part.data() + part.size(), value);
  if (failed != std::errc{} || end != part.data() + part.size()) return std::nullopt;
  return value;
}

bool IsExpertsPart(std::string_view part) {
  return part == "experts" || part == "expert" || part == "local_experts";
}

// Whether this names a parameter of a module, not a module: "weight", "weight_scale_inv", "e_score_correction_bias".
bool IsParameter(std::string_view part) {
  return part.starts_with("weight") || part.ends_with("bias") || part.ends_with("scale") || part.ends_with("scales") ||
         part == "qweight" || part == "qzeros" || part == "g_idx";
}

std::string Joined(const std::vector<std::string_view>& parts, size_t begin, size_t end) {
  return fmt::format("{}", fmt::join(parts.data() + begin, parts.data() + end, "."));
}

}  // namespace

TensorPlace PlaceOf(std::string_view tensor_name) {
  TensorPlace place;
  std::vector<std::string_view> parts = SplitAtDots(tensor_name);
  size_t module_begin = 0;
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::optional<uint64_t> number = ParseOrdinal(parts[i]);
    if (!number) continue;
    if (IsExpertsPart(parts[i - 1])) {
      place.expert = number;
      parts.erase(parts.begin() + static_cast<ptrdiff_t>(i));
      break;
    }
    if (place.layer || i + 1 == parts.size()) continue;  // a number inside the layer; or the last part, a parameter
    place.stack = Joined(parts, 0, i);
    place.layer = number;
    place.layer_name = Joined(parts, 0, i + 1);
    module_begin = i + 1;
  }
  const size_t module_parts = parts.size() - module_begin;
  const bool has_parameter = module_parts > 1 && IsParameter(parts.back());
  place.module = Joined(parts, module_begin, parts.size() - (has_parameter ? 1 : 0));
  if (!place.layer) place.layer_name = place.module;
  return place;
}

}  // namespace wdelta
