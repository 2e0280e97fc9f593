// The heat map of `stats`: layers by modules, coloured by the share of elements that changed. It is made of blocks:
// the legend, one for each stack of layers and one for what stands outside all layers. The page lays them out as there
// is room; HeatMapSvg (stats_view.h) puts them one below the other into a picture that stands alone.
//
// A cell says its share in figures too and has its exact numbers as a tooltip. A cell without any change and a cell
// where the model has no tensor look different from each other and from every colour, in their shape too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wdelta.h"

namespace wdelta {

struct HeatMapBlock {
  double width = 0, height = 0;  // in pixels, at which its text has its right size
  std::string label;             // what it shows, for readers who cannot see it; escaped
  std::string body;              // SVG elements, to be styled by HeatMapStyle
};

struct HeatMap {
  HeatMapBlock scale, marks;        // the legend: what colours mean, and what the marks mean that are not colours
  std::vector<HeatMapBlock> grids;  // none if the report has no tensors
};
HeatMap DrawHeatMap(const StatsReport& report);

// ---- What is drawn: heat_map_grid.cc

// The tensors of a report arranged as the model is built: for each stack of layers a grid of layers by modules, and one
// column for what stands outside all layers. A cell sums up all tensors of a module in one layer, so that the experts
// of a layer are one cell, and a weight and its bias too.
//
// A file may name a million layers or modules; a picture may not. What was left out is counted.
struct HeatGrid {
  std::string stack;
  bool outside = false;              // all layers: rows are modules, and there is one column
  std::vector<std::string> rows;     // numbers of layers, or modules; names are as in the file
  std::vector<std::string> columns;  // modules; outside all layers one without a name
  std::vector<GroupRow> cells;       // row by row; one without tensors: the model has none there
  uint64_t rows_left_out = 0, columns_left_out = 0;
  const GroupRow& At(size_t row, size_t column) const { return cells[row * columns.size() + column]; }
};

struct HeatGrids {
  std::vector<HeatGrid> grids;
  uint64_t stacks_left_out = 0;
};

// Tensors that were removed are in no cell: the new model does not have them.
HeatGrids ArrangeForHeatMap(const StatsReport& report);

// ---- How it is shown: heat_map_picture.cc

// A block as an <svg> element in an HTML page that has HeatMapStyle.
std::string InlineSvg(const HeatMapBlock& block);

// The style sheet of the picture. Complete without the page's own, because the picture also stands alone; all its
// selectors begin with the class of the picture, because it also stands in the page.
//
// Cells do not carry colours but the class of their step (h0, h1, ...), so that one picture serves light pages and dark
// ones. From little to much, lightness falls or rises evenly, so that the order can be seen without any sense of
// colour, and on grey paper; hue runs from yellow over green to blue, which the common kinds of colour blindness keep
// apart. On a light page much is dark, on a dark page much is bright: the eye goes to what differs from the page.
std::string HeatMapStyle();
inline constexpr int kHeatSteps = 24;

}  // namespace wdelta
