// The tensors of a report arranged as the model is built: for each stack of layers a grid of layers by modules, and one
// column for what stands outside all layers. A cell sums up all tensors of a module in one layer, so that the experts
// of a layer are one cell, and a weight and its bias too.
//
// A file may name a million layers or modules; a picture may not. What was left out is counted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "wdelta.h"

namespace wdelta {

struct HeatCell {
  uint64_t tensors = 0, tensors_changed = 0;  // no tensors: the model has none here
  uint64_t elements = 0, elements_changed = 0;
  uint64_t experts_total = 0, experts_touched = 0;
  double share() const {  // of its elements, that changed
    return elements ? static_cast<double>(elements_changed) / static_cast<double>(elements) : 0;
  }
};

struct HeatGrid {
  std::string stack;
  bool outside = false;              // all layers: rows are modules, and there is one column
  std::vector<std::string> rows;     // numbers of layers, or modules; names are as in the file
  std::vector<std::string> columns;  // modules; outside all layers one without a name
  std::vector<HeatCell> cells;       // row by row
  uint64_t rows_left_out = 0, columns_left_out = 0;
  const HeatCell& At(size_t row, size_t column) const { return cells[row * columns.size() + column]; }
};

struct HeatGrids {
  std::vector<HeatGrid> grids;
  uint64_t stacks_left_out = 0;
};

// Tensors that were removed are in no cell: the new model does not have them.
HeatGrids ArrangeForHeatMap(const StatsReport& report);

}  // namespace wdelta
