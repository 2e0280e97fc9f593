// What the reports of the public face are made of.
#include <algorithm>
#include <map>

#include "wdelta.h"

namespace wdelta {

std::string_view ChangeName(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kSame:
      return "same";
    case ChangeKind::kChanged:
      return "changed";
    case ChangeKind::kAdded:
      return "added";
    case ChangeKind::kRemoved:
      return "removed";
    case ChangeKind::kReshaped:
      return "reshaped";
    case ChangeKind::kRetyped:
      return "retyped";
  }
  return "unknown";
}

namespace {

// "model.layers.12.mlp.up_proj.weight" belongs to "model.layers.12": everything up to the first part that is a number.
// A name without one belongs to what stands before its last dot.
std::string LayerOf(const std::string& name) {
  for (size_t begin = 0; begin < name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const bool number = end > begin && std::all_of(name.begin() + static_cast<ptrdiff_t>(begin),
                                                   name.begin() + static_cast<ptrdiff_t>(end),
                                                   [](char c) { return c >= '0' && c <= '9'; });
    if (number) return name.substr(0, end);
    begin = end + 1;
  }
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(0, dot);
}

}  // namespace

std::vector<GroupRow> Group(const std::vector<TensorChange>& tensors, GroupBy by) {
  std::vector<GroupRow> rows;
  std::map<std::string, size_t> row_of;
  for (const TensorChange& tensor : tensors) {
    std::string name = tensor.name;
    if (by == GroupBy::kLayer) name = LayerOf(tensor.name);
    if (by == GroupBy::kDtype) name = tensor.dtype.empty() ? tensor.old_dtype : tensor.dtype;
    if (by == GroupBy::kShard) name = tensor.shard;
    const auto [at, is_new] = row_of.emplace(name, rows.size());
    if (is_new) rows.push_back({name});
    GroupRow& row = rows[at->second];
    row.tensors += 1;
    row.tensors_changed += tensor.kind != ChangeKind::kSame;
    row.elements += tensor.kind == ChangeKind::kRemoved ? 0 : tensor.elements;
    row.elements_changed += tensor.elements_changed;
  }
  return rows;
}

}  // namespace wdelta
