#include "stats/stats_page_chart.h"

#include <fmt/format.h>

namespace wdelta {

void Chart::Text(double x, double y, std::string_view anchor, std::string_view text) {
  Add(fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)", x, y, anchor, text));
}

void Chart::Title(double y, std::string_view text) {
  Add(fmt::format(R"(<text class="strong" x="0" y="{:.1f}">{}</text>)", y, text));
}

void Chart::GridLine(double y, std::string_view value) {
  Add(fmt::format(R"(<path class="grid" d="M{} {:.1f}H{}"/>)", kLeft, y, kRight));
  Text(kLeft - 8, y + 4, "end", value);
}

void Chart::BaseLine(double y) {
  Add(fmt::format(R"(<path class="base" d="M{} {:.1f}H{}"/>)", kLeft, y, kRight));
}

void Chart::Hover(double x, double width, double top, double bottom, std::string_view tooltip) {
  Add(fmt::format(
      R"(<rect class="hover" x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{:.1f}"><title>{}</title></rect>)", x, top,
      width, bottom - top, tooltip));
}

std::string Chart::Svg() const {
  return fmt::format("<svg class=\"chart\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {} {}\">\n{}</svg>\n", label_,
                     kWidth, height_, body_);
}

void DrawShareGrid(Chart* chart, const LogScale& scale, double top, double bottom) {
  for (const double tick : scale.Ticks()) {
    chart->GridLine(ShareHeight(scale, tick, top, bottom), fmt::format("{:.6g} %", 100 * tick));
  }
  chart->BaseLine(bottom);
  chart->Text(Chart::kLeft - 8, bottom + 4, "end", "0");
}

double ShareHeight(const LogScale& scale, double share, double top, double bottom) {
  if (!(share > 0)) return bottom;
  const double end = bottom - kZeroRoom;
  return end - scale.Position(share) * (end - top);
}

}  // namespace wdelta
