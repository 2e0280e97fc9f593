// The blocks of the heat map: a grid of cells for each stack, and the legend.
#include "stats/heat_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "markup.h"
#include "stats/stats_chart.h"
#include "stats/stats_words.h"
#include "table.h"

namespace wdelta {

namespace {

constexpr double kCellWidth = 46, kCellHeight = 21, kGap = 2;
constexpr double kCharacter = 7.5;  // pixels of an average character; no font is asked, so it is a wide one's
constexpr size_t kLongestLabel = 44;
constexpr double kSine = 0.643, kCosine = 0.766;  // of 40 degrees, by which the names of columns are slanted
constexpr double kTitle = 30, kNote = 20;
constexpr double kLegendHeight = 60, kLegendTop = 24;

// `style` is a class of HeatMapStyle.
std::string Words(double x, double y, const char* style, const std::string& text, size_t width = 120) {
  return fmt::format("<text class=\"{}\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", style, x, y, MarkupText(text, width));
}

// The room that a label takes, at most that of the longest; of the label as it is shown, with controls as escapes.
double WidthOf(const std::string& label) {
  return kCharacter * static_cast<double>(std::min(DisplayWidth(TerminalText(label)), kLongestLabel));
}

struct CellStyle {
  LogScale scale;
  const char* absent = "no such tensor";  // what the dash means; a delta does not tell
};

std::string Tooltip(const GroupRow& cell, const CellStyle& style) {
  if (cell.tensors == 0) return style.absent;
  std::string text = ChangedText(cell.elements_changed, cell.elements, "element", kFineDigits) + ", in " +
                     Grouped(cell.tensors_changed) + " of " + Counted(cell.tensors, "tensor");
  if (cell.experts_total > 0) {
    text += "; " + Grouped(cell.experts_total - cell.experts_touched) + " of " + Counted(cell.experts_total, "expert") +
            " untouched";
  }
  return text;
}

// A colour with its figure, a dot in a frame where nothing changed, or a short dash where there is no tensor.
std::string DrawCell(double x, double y, const GroupRow& cell, const std::string& where, const CellStyle& style) {
  const double middle = kCellWidth / 2, centre = kCellHeight / 2;
  std::string mark, kind;
  if (cell.tensors == 0) {
    kind = "absent";
    mark = fmt::format(R"(<path d="M{} {}h8"/>)", middle - 4, centre);
  } else if (cell.elements_changed == 0) {
    kind = "none";
    mark = fmt::format(R"(<rect x=".5" y=".5" width="{}" height="{}" rx="2"/><circle cx="{}" cy="{}" r="1.6"/>)",
                       kCellWidth - 1, kCellHeight - 1, middle, centre);
  } else {
    const double position = style.scale.Position(PartOf(cell.elements_changed, cell.elements));
    kind = fmt::format("figure h{}", std::clamp(static_cast<int>(position * kHeatSteps), 0, kHeatSteps - 1));
    // One digit of what is little has just room, without the sign, which the legend says.
    std::string figure = Percent(cell.elements_changed, cell.elements, 1);
    figure.resize(figure.size() - 2);
    mark = fmt::format(R"(<rect width="{}" height="{}" rx="2"/><text x="{}" y="{}">{}</text>)", kCellWidth, kCellHeight,
                       middle, centre + 4, MarkupText(figure));
  }
  return fmt::format("<g class=\"{}\" transform=\"translate({:.0f} {:.0f})\"><title>{}: {}</title>{}</g>\n", kind, x, y,
                     where, MarkupText(Tooltip(cell, style), 400), mark);
}

std::string LeftOut(const HeatGrid& grid) {
  std::string text;
  if (grid.rows_left_out > 0) text += Counted(grid.rows_left_out, grid.outside ? "module" : "layer");
  if (grid.columns_left_out > 0) text += (text.empty() ? "" : " and ") + Counted(grid.columns_left_out, "module");
  return text.empty() ? "" : "not drawn: " + text;
}

HeatMapBlock DrawGrid(const HeatGrid& grid, const CellStyle& style) {
  double left = 0, head = 0, lean = 0;  // lean: how far the slanted names of columns reach to the right
  for (const std::string& name : grid.rows) left = std::max(left, WidthOf(name));
  for (const std::string& name : grid.columns) head = std::max(head, WidthOf(name));
  left += 10;
  head = kTitle + (grid.outside ? 0 : head * kSine + 14);
  const auto x_of = [&](size_t column) { return left + static_cast<double>(column) * (kCellWidth + kGap); };
  const auto y_of = [&](size_t row) { return head + static_cast<double>(row) * (kCellHeight + kGap); };

  const std::string title = grid.outside         ? "outside all layers"
                            : grid.stack.empty() ? "layers"
                                                 : ShortenMiddle(grid.stack, kLongestLabel) + ", by layer";
  HeatMapBlock block;
  block.label = "Share of elements changed, " + MarkupText(title) + ": " +
                Counted(grid.rows.size(), grid.outside ? "module" : "layer") +
                (grid.outside ? "" : " by " + Counted(grid.columns.size(), "module"));
  block.body = Words(0, 14, "title", title);
  for (size_t column = 0; column < grid.columns.size() && !grid.outside; ++column) {
    const std::string& name = grid.columns[column];
    const double x = x_of(column) + kCellWidth / 2;
    block.body += fmt::format("<text transform=\"translate({:.0f} {:.0f}) rotate(-40)\">{}</text>\n", x, head - 8,
                              MarkupText(name, kLongestLabel));
    lean = std::max(lean, x + WidthOf(name) * kCosine);
  }
  for (size_t row = 0; row < grid.rows.size(); ++row) {
    block.body += Words(left - 8, y_of(row) + kCellHeight / 2 + 4, "end", grid.rows[row], kLongestLabel);
    const std::string name = MarkupText(grid.rows[row], kLongestLabel);
    for (size_t column = 0; column < grid.columns.size(); ++column) {
      const std::string where =
          grid.outside ? name : "layer " + name + ", " + MarkupText(grid.columns[column], kLongestLabel);
      block.body += DrawCell(x_of(column), y_of(row), grid.At(row, column), where, style);
    }
  }
  // Slanted names and titles may reach further than the cells: no viewer shows what is outside of the block.
  block.height = y_of(grid.rows.size());
  block.width =
      std::max({x_of(grid.columns.size()), lean, kCharacter * 1.15 * static_cast<double>(DisplayWidth(title))}) + 4;
  if (const std::string note = LeftOut(grid); !note.empty()) {
    block.body += Words(0, block.height + 14, "small", note);
    block.height += kNote;
  }
  return block;
}

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
  const auto sample = [&](const GroupRow& cell, const std::string& meaning) {
    block.body += DrawCell(block.width, kLegendTop - 4, cell, "a mark of this map", style);
    block.body += Words(block.width + kCellWidth + 8, kLegendTop + 11, "small", meaning);
    block.width += kCellWidth + 24 + WidthOf(meaning);
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
  std::vector<double> shares;
  bool has_full = false;
  for (const HeatGrid& grid : arranged.grids) {
    for (const GroupRow& cell : grid.cells) {
      const bool is_full = cell.elements > 0 && cell.elements_changed >= cell.elements;
      has_full |= is_full;
      if (!is_full) shares.push_back(PartOf(cell.elements_changed, cell.elements));
    }
  }
  const CellStyle style{LogScaleAround(shares), report.has_tallies() ? "no such tensor" : "not in the delta"};
  map.scale = DrawScale(style.scale, has_full && style.scale.high < 1);
  map.marks = DrawMarks(style);
  for (const HeatGrid& grid : arranged.grids) map.grids.push_back(DrawGrid(grid, style));
  if (arranged.stacks_left_out > 0) {
    const std::string note = "not drawn: " + Counted(arranged.stacks_left_out, "further stack") + " of layers";
    map.grids.push_back({WidthOf(note), kNote, note, Words(0, 14, "small", note)});
  }
  return map;
}

}  // namespace wdelta
