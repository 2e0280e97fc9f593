// The blocks of the heat map: a grid of cells for each stack, and the legend.
#include <fmt/format.h>

#include <algorithm>

#include "numbers.h"
#include "stats/heat_map.h"
#include "stats/heat_map_cell.h"
#include "stats/heat_map_colours.h"
#include "stats/heat_map_grid.h"
#include "stats/stats_page_markup.h"
#include "stats/stats_page_scale.h"
#include "table.h"

namespace wdelta {

namespace {

constexpr double kGap = 2;          // between cells
constexpr double kCharacter = 7.5;  // pixels of an average character; no font is asked, so it is a wide one's
constexpr size_t kLongestLabel = 44;
constexpr double kSine = 0.643, kCosine = 0.766;  // of 40 degrees, by which the names of columns are slanted
constexpr double kTitle = 30, kNote = 20;

double LongestLabel(const std::vector<std::string>& names) {
  size_t longest = 0;
  for (const std::string& name : names) longest = std::max(longest, DisplayWidth(TerminalText(name)));
  return kCharacter * static_cast<double>(std::min(longest, kLongestLabel));
}

std::string LeftOut(const HeatGrid& grid) {
  std::string text;
  if (grid.rows_left_out > 0) text += Counted(grid.rows_left_out, grid.outside ? "module" : "layer");
  if (grid.columns_left_out > 0) text += (text.empty() ? "" : " and ") + Counted(grid.columns_left_out, "module");
  return text.empty() ? "" : "not drawn: " + text;
}

HeatMapBlock DrawGrid(const HeatGrid& grid, const CellStyle& style) {
  const double left = LongestLabel(grid.rows) + 10;
  const double head = kTitle + (grid.outside ? 0 : LongestLabel(grid.columns) * kSine + 14);
  HeatMapBlock block;
  const std::string title =
      grid.outside ? "outside all layers"
                   : (grid.stack.empty() ? "layers" : MarkupText(grid.stack, kLongestLabel) + ", by layer");
  block.label = "Share of elements changed, " + title + ": " +
                Counted(grid.rows.size(), grid.outside ? "module" : "layer") +
                (grid.outside ? "" : " by " + Counted(grid.columns.size(), "module"));
  block.body = Words(0, 14, "title", title);
  std::vector<std::string> modules;
  double lean = 0;  // how far the slanted names of columns reach to the right
  for (size_t column = 0; column < grid.columns.size(); ++column) {
    modules.push_back(MarkupText(grid.columns[column], kLongestLabel));
    if (grid.outside) continue;
    const double x = left + static_cast<double>(column) * (kCellWidth + kGap) + kCellWidth / 2;
    block.body += fmt::format(R"svg(<text transform="translate({:.0f} {:.0f}) rotate(-40)">{}</text>)svg", x, head - 8,
                              modules.back()) +
                  '\n';
    lean = std::max(lean, x + LongestLabel({grid.columns[column]}) * kCosine);
  }
  for (size_t row = 0; row < grid.rows.size(); ++row) {
    const double y = head + static_cast<double>(row) * (kCellHeight + kGap);
    const std::string name = MarkupText(grid.rows[row], kLongestLabel);
    block.body += Words(left - 8, y + kCellHeight / 2 + 4, "end", name);
    for (size_t column = 0; column < grid.columns.size(); ++column) {
      const double x = left + static_cast<double>(column) * (kCellWidth + kGap);
      const std::string where = grid.outside ? name : "layer " + name + ", " + modules[column];
      block.body += DrawCell(x, y, grid.At(row, column), where, style);
    }
  }
  block.height = head + static_cast<double>(grid.rows.size()) * (kCellHeight + kGap);
  const double cells = static_cast<double>(grid.columns.size()) * (kCellWidth + kGap);
  block.width = std::max({left + cells, lean, kCharacter * 1.15 * static_cast<double>(title.size())}) + 4;
  if (const std::string note = LeftOut(grid); !note.empty()) {
    block.body += Words(0, block.height + 14, "small", note);
    block.height += kNote;
  }
  return block;
}

constexpr double kLegendHeight = 60, kLegendTop = 24;

// The scale as a strip of colours with its values. `goes_on`: there are shares above its end.
HeatMapBlock DrawScale(const LogScale& scale, bool goes_on) {
  constexpr double kStep = 12, kHeight = 12, kWidth = kStep * kHeatSteps;
  HeatMapBlock block{336, kLegendHeight, "Scale of the colours", ""};
  block.body = Words(0, 12, "small", "share of a cell's elements that changed, in %, logarithmic");
  for (int step = 0; step < kHeatSteps; ++step) {
    block.body += fmt::format(R"(<g class="h{}"><rect x="{}" y="{}" width="{}" height="{}"/></g>)", step, kStep * step,
                              kLegendTop, kStep + 0.5, kHeight);
  }
  for (const double tick : scale.Ticks()) {
    const double at = kWidth * scale.Position(tick);
    const bool last = tick == scale.high;
    const char* anchor = tick == scale.low ? "small" : last ? "small end" : "small middle";
    block.body += fmt::format(R"(<path class="tick" d="M{:.1f} {}v4"/>)", at, kLegendTop + kHeight);
    block.body += Words(at, kLegendTop + kHeight + 17, anchor,
                        (last && goes_on ? "\u2265\u2009" : "") + fmt::format("{:.6g}", 100 * tick));
  }
  return block;
}

HeatMapBlock DrawMarks(const CellStyle& style) {
  HeatMapBlock block{0, kLegendHeight, "Marks of the heat map", ""};
  const auto sample = [&](const HeatCell& cell, const std::string& meaning) {
    block.body += DrawCell(block.width, kLegendTop - 4, cell, "a mark of this map", style);
    block.body += Words(block.width + kCellWidth + 8, kLegendTop + 11, "small", meaning);
    block.width += kCellWidth + 24 + kCharacter * static_cast<double>(meaning.size());
  };
  sample({.tensors = 1}, "no change");
  sample({}, style.absent);
  return block;
}

}  // namespace

HeatMap DrawHeatMap(const StatsReport& report) {
  const HeatGrids arranged = ArrangeForHeatMap(report);
  HeatMap map;
  if (arranged.grids.empty()) return map;
  // One scale for all stacks, so that they can be compared. A new tensor is changed in full, which says nothing about
  // the others, so it does not stretch the scale.
  double least = 1, most = 0;
  bool has_full = false;
  for (const HeatGrid& grid : arranged.grids) {
    for (const HeatCell& cell : grid.cells) {
      has_full |= cell.elements > 0 && cell.elements_changed >= cell.elements;
      if (cell.elements_changed == 0 || cell.elements_changed >= cell.elements) continue;
      least = std::min(least, cell.share());
      most = std::max(most, cell.share());
    }
  }
  const LogScale scale = most > 0 ? LogScaleAround(least, most) : LogScale{};
  map.scale = DrawScale(scale, has_full && scale.high < 1);
  const CellStyle style{scale, report.has_tallies() ? "no such tensor" : "not in the delta"};
  map.marks = DrawMarks(style);
  for (const HeatGrid& grid : arranged.grids) map.grids.push_back(DrawGrid(grid, style));
  if (arranged.stacks_left_out > 0) {
    const std::string note = "not drawn: " + Counted(arranged.stacks_left_out, "further stack") + " of layers";
    map.grids.push_back({kCharacter * static_cast<double>(note.size()), kNote, note, Words(0, 14, "small", note)});
  }
  return map;
}

}  // namespace wdelta
