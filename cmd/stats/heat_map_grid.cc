#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "stats/heat_map.h"

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

// Copies, because Group sums up a list of them, and the experts of a cell are to be counted as everywhere else.
using Tensors = std::vector<TensorStats>;
using Stack = std::map<uint64_t, std::map<std::string, Tensors, ByReadingOrder>>;

GroupRow SumOf(const Tensors& tensors) {
  return Group(tensors, GroupBy::kWhole).front();
}

HeatGrid LayersByModules(const std::string& name, const Stack& stack) {
  HeatGrid grid{name};
  std::set<std::string, ByReadingOrder> names;
  for (const auto& [layer, modules] : stack) {
    for (const auto& [module, tensors] : modules) names.insert(module);
  }
  for (const std::string& module : names) {
    if (grid.columns.size() < kMostModules) grid.columns.push_back(module);
  }
  grid.columns_left_out = names.size() - grid.columns.size();
  for (const auto& [layer, modules] : stack) {
    if (grid.rows.size() == kMostLayers) break;
    grid.rows.push_back(std::to_string(layer));
    for (const std::string& module : grid.columns) {
      const auto found = modules.find(module);
      grid.cells.push_back(found == modules.end() ? GroupRow{} : SumOf(found->second));
    }
  }
  grid.rows_left_out = stack.size() - grid.rows.size();
  return grid;
}

// By name. If there are too many, those that changed most stay.
HeatGrid OutsideOfLayers(const std::map<std::string, Tensors>& modules) {
  std::vector<GroupRow> cells;
  for (const auto& [module, tensors] : modules) {
    cells.push_back(SumOf(tensors));
    cells.back().name = module;
  }
  if (cells.size() > kMostOutside) {
    std::ranges::stable_sort(cells, std::greater{}, &GroupRow::elements_changed);
    cells.resize(kMostOutside);
    std::ranges::sort(cells, {}, &GroupRow::name);
  }
  HeatGrid grid{.outside = true, .columns = {""}, .cells = std::move(cells)};
  for (const GroupRow& cell : grid.cells) grid.rows.push_back(cell.name);
  grid.rows_left_out = modules.size() - grid.rows.size();
  return grid;
}

}  // namespace

HeatGrids ArrangeForHeatMap(const StatsReport& report) {
  std::map<std::string, Stack> stacks;
  std::map<std::string, Tensors> outside;
  for (const TensorStats& tensor : report.tensors) {
    if (tensor.kind == ChangeKind::kRemoved) continue;
    const TensorPlace& place = tensor.place;
    (place.layer ? stacks[place.stack][*place.layer][place.module] : outside[place.module]).push_back(tensor);
  }
  // The stack with most layers is the model; others are its eyes and ears. Equals stay in order of their names.
  std::vector<std::map<std::string, Stack>::const_iterator> order;
  for (auto at = stacks.cbegin(); at != stacks.cend(); ++at) order.push_back(at);
  std::ranges::stable_sort(order, std::greater{}, [](const auto& stack) { return stack->second.size(); });
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
