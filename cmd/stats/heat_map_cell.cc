#include "stats/heat_map_cell.h"

#include <fmt/format.h>

#include "numbers.h"
#include "stats/heat_map_colours.h"
#include "stats/stats_page_markup.h"

namespace wdelta {

namespace {

// Per cent without the sign, at most four characters.
std::string CellFigure(double share) {
  const double percent = 100 * share;
  if (percent >= 99.5 && share < 1) return ">99";
  if (percent >= 9.95) return fmt::format("{:.0f}", percent);
  if (percent >= 0.995) return fmt::format("{:.1f}", percent);
  if (percent >= 0.00995) return fmt::format("{:.2f}", percent);
  return percent >= 0.0005 ? fmt::format("{:.3f}", percent).substr(1) : "<.001";
}

std::string Exactly(const HeatCell& cell, const CellStyle& style) {
  if (cell.tensors == 0) return style.absent;
  std::string text = Grouped(cell.elements_changed) + " of " + Counted(cell.elements, "element") + " changed (" +
                     FineShare(cell.elements_changed, cell.elements) + "), in " + Grouped(cell.tensors_changed) +
                     " of " + Counted(cell.tensors, "tensor");
  if (cell.experts_total > 0) {
    text += "; " + Grouped(cell.experts_total - cell.experts_touched) + " of " + Counted(cell.experts_total, "expert") +
            " untouched";
  }
  return text;
}

// The mark of a cell at 0, 0: a colour with its figure, a dot in a frame, or a short dash.
std::string Mark(const HeatCell& cell) {
  const double middle = kCellWidth / 2, centre = kCellHeight / 2;
  if (cell.tensors == 0) return fmt::format(R"(<path d="M{} {}h8"/>)", middle - 4, centre);
  if (cell.elements_changed == 0) {
    return fmt::format(R"(<rect x=".5" y=".5" width="{}" height="{}" rx="2"/><circle cx="{}" cy="{}" r="1.6"/>)",
                       kCellWidth - 1, kCellHeight - 1, middle, centre);
  }
  return fmt::format(R"(<rect width="{}" height="{}" rx="2"/><text x="{}" y="{}">{}</text>)", kCellWidth, kCellHeight,
                     middle, centre + 4, MarkupText(CellFigure(cell.share())));
}

std::string MarkClass(const HeatCell& cell, const CellStyle& style) {
  if (cell.tensors == 0) return "absent";
  if (cell.elements_changed == 0) return "none";
  return fmt::format("figure h{}", HeatStep(style.scale.Position(cell.share())));
}

}  // namespace

std::string DrawCell(double x, double y, const HeatCell& cell, const std::string& where, const CellStyle& style) {
  return fmt::format(R"svg(<g class="{}" transform="translate({:.0f} {:.0f})"><title>{}: {}</title>{}</g>)svg",
                     MarkClass(cell, style), x, y, where, Exactly(cell, style), Mark(cell)) +
         '\n';
}

std::string Words(double x, double y, const char* style, const std::string& text) {
  return fmt::format(R"(<text class="{}" x="{:.0f}" y="{:.0f}">{}</text>)", style, x, y, text) + '\n';
}

}  // namespace wdelta
