// One cell of the heat map as SVG. Three things can be in it: a colour with its figure, a dot in a frame where nothing
// changed, and a short dash where the model has no tensor. They differ in shape, so that no colour has to be seen.
#pragma once

#include <string>

#include "stats/heat_map_grid.h"
#include "stats/stats_page_scale.h"

namespace wdelta {

inline constexpr double kCellWidth = 46, kCellHeight = 21;

struct CellStyle {
  LogScale scale;
  const char* absent = "no such tensor";  // what the dash means; a delta does not tell
};

// With its exact numbers as a tooltip, after `where` it is, which is escaped already.
std::string DrawCell(double x, double y, const HeatCell& cell, const std::string& where, const CellStyle& style);

// Words beside the cells; `style` is a class of HeatMapStyle, `text` is escaped already.
std::string Words(double x, double y, const char* style, const std::string& text);

}  // namespace wdelta
