// The heat map of `stats`: layers by modules, coloured by the share of elements that changed. It is made of blocks:
// the legend, one for each stack of layers and one for what stands outside all layers. The page lays them out as there
// is room; HeatMapSvg (stats_view.h) puts them one below the other into a picture that stands alone.
//
// A cell says its share in figures too and has its exact numbers as a tooltip. A cell without any change and a cell
// where the model has no tensor look different from each other and from every colour.
#pragma once

#include <string>
#include <vector>

#include "wdelta.h"

namespace wdelta {

struct HeatMapBlock {
  double width = 0, height = 0;  // in pixels, at which its text has its right size
  std::string label;             // what it shows, for those who cannot see it; escaped
  std::string body;              // SVG elements, to be styled by HeatMapStyle
};

struct HeatMap {
  HeatMapBlock scale, marks;        // the legend: what colours mean, and what the marks mean that are no colours
  std::vector<HeatMapBlock> grids;  // none if the report has no tensors
};
HeatMap DrawHeatMap(const StatsReport& report);

// A block as an <svg> element in an HTML page that has HeatMapStyle.
std::string InlineSvg(const HeatMapBlock& block);

}  // namespace wdelta
