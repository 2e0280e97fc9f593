#include "stats/heat_map_grid.h"

#include <algorithm>
#include <tuple>

namespace wdelta {

namespace {

constexpr size_t kMostStacks = 12, kMostLayers = 256, kMostModules = 40, kMostOutside = 60;

// Attention, then the rest, then norms: nearer to the way of the data than the alphabet, without knowing the model.
int ReadingOrder(const std::string& module) {
  const auto has = [&](const char* part) { return module.find(part) != std::string::npos; };
  if (has("norm")) return 2;
  return has("attn") || has("attention") ? 0 : 1;
}

struct ByReadingOrder {
  bool operator()(const std::string& a, const std::string& b) const {
    return std::forward_as_tuple(ReadingOrder(a), a) < std::forward_as_tuple(ReadingOrder(b), b);
  }
};

struct Gathered {
  HeatCell cell;
  std::map<uint64_t, bool> touched_experts;
};

void Add(const TensorStats& tensor, Gathered* gathered) {
  HeatCell& cell = gathered->cell;
  const bool changed = tensor.kind != ChangeKind::kSame;
  cell.tensors += 1;
  cell.tensors_changed += changed;
  cell.elements += tensor.elements;
  cell.elements_changed += tensor.elements_changed;
  for (size_t i = 0; tensor.tally && i < tensor.tally->expert_touched.size(); ++i) {
    gathered->touched_experts[i] |= tensor.tally->expert_touched[i];
  }
  if (tensor.place.expert) gathered->touched_experts[*tensor.place.expert] |= changed;
}

HeatCell Finished(const Gathered& gathered) {
  HeatCell cell = gathered.cell;
  for (const auto& [expert, touched] : gathered.touched_experts) {
    cell.experts_total += 1;
    cell.experts_touched += touched;
  }
  return cell;
}

using Stack = std::map<uint64_t, std::map<std::string, Gathered, ByReadingOrder>>;

HeatGrid LayersByModules(const std::string& name, const Stack& stack) {
  HeatGrid grid{name};
  std::map<std::string, size_t, ByReadingOrder> column_of;
  for (const auto& [layer, modules] : stack) {
    for (const auto& [module, gathered] : modules) column_of.emplace(module, 0);
  }
  for (auto& [module, column] : column_of) {
    column = grid.columns.size();
    if (column == kMostModules) break;
    grid.columns.push_back(module);
  }
  grid.columns_left_out = column_of.size() - grid.columns.size();
  for (const auto& [layer, modules] : stack) {
    if (grid.rows.size() == kMostLayers) break;
    grid.rows.push_back(std::to_string(layer));
    grid.cells.resize(grid.rows.size() * grid.columns.size());
    HeatCell* row = grid.cells.data() + (grid.rows.size() - 1) * grid.columns.size();
    for (size_t column = 0; column < grid.columns.size(); ++column) {
      const auto found = modules.find(grid.columns[column]);
      if (found != modules.end()) row[column] = Finished(found->second);
    }
  }
  grid.rows_left_out = stack.size() - grid.rows.size();
  return grid;
}

// By name. If there are too many, those that changed most stay.
HeatGrid OutsideOfLayers(const std::map<std::string, Gathered>& modules) {
  std::vector<std::map<std::string, Gathered>::const_iterator> chosen;
  for (auto at = modules.cbegin(); at != modules.cend(); ++at) chosen.push_back(at);
  if (chosen.size() > kMostOutside) {
    std::stable_sort(chosen.begin(), chosen.end(), [](const auto& a, const auto& b) {
      return a->second.cell.elements_changed > b->second.cell.elements_changed;
    });
    chosen.resize(kMostOutside);
    std::sort(chosen.begin(), chosen.end(), [](const auto& a, const auto& b) { return a->first < b->first; });
  }
  HeatGrid grid{.outside = true};
  grid.columns.emplace_back();
  for (const auto& module : chosen) {
    grid.rows.push_back(module->first);
    grid.cells.push_back(Finished(module->second));
  }
  grid.rows_left_out = modules.size() - grid.rows.size();
  return grid;
}

}  // namespace

HeatGrids ArrangeForHeatMap(const StatsReport& report) {
  std::map<std::string, Stack> stacks;
  std::map<std::string, Gathered> outside;
  for (const TensorStats& tensor : report.tensors) {
    if (tensor.kind == ChangeKind::kRemoved) continue;
    const TensorPlace& place = tensor.place;
    Add(tensor, place.layer ? &stacks[place.stack][*place.layer][place.module] : &outside[place.module]);
  }
  // The stack with most layers is the model; others are its eyes and ears. Equals stay in order of their names.
  std::vector<std::map<std::string, Stack>::const_iterator> order;
  for (auto at = stacks.cbegin(); at != stacks.cend(); ++at) order.push_back(at);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a->second.size() > b->second.size(); });
  HeatGrids arranged;
  for (const auto& stack : order) {
    if (arranged.grids.size() == kMostStacks) break;
    arranged.grids.push_back(LayersByModules(stack->first, stack->second));
  }
  arranged.stacks_left_out = order.size() - arranged.grids.size();
  if (!outside.empty()) arranged.grids.push_back(OutsideOfLayers(outside));
  return arranged;
}

}  // namespace wdelta
