// The heat map as a picture: alone in its file, or as a part of the page.
#include "stats/heat_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "stats/heat_map_colours.h"
#include "stats/stats_page_markup.h"
#include "stats/stats_view.h"

namespace wdelta {

namespace {

constexpr double kMargin = 28, kBetween = 26;

// What is shown where a map cannot be.
HeatMapBlock NoTensors(const StatsReport& report) {
  const std::string why = report.has_tensors() ? "There is no tensor to draw: neither side has any."
                                               : "Records say how much changed, but not where.";
  const std::string hint = report.has_tensors() ? "" : "Give two checkpoints, or one delta, to see layers and modules.";
  return {460, 44, "No heat map",
          fmt::format(R"(<text y="14">{}</text><text class="small" y="36">{}</text>)", why, hint)};
}

std::string SubjectText(const StatsReport& report) {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(report.names.size(), 2); ++i) {
    text += (text.empty() ? "" : " \u2192 ") + MarkupText(report.names[i], 40);
  }
  return text;
}

}  // namespace

std::string InlineSvg(const HeatMapBlock& block) {
  return fmt::format(
             R"(<svg class="heat" role="img" aria-label="{0}" width="{1:.0f}" height="{2:.0f}" viewBox="0 0 {1:.0f} {2:.0f}">)",
             block.label, block.width, block.height) +
         '\n' + block.body + "</svg>\n";
}

std::string HeatMapSvg(const StatsReport& report) {
  HeatMap map = DrawHeatMap(report);
  const std::string subject = SubjectText(report);
  double width = 480, y = kMargin + 40;
  std::string body;
  const auto place = [&](const HeatMapBlock& block, double x) {
    body += fmt::format("<g transform=\"translate({:.0f} {:.0f})\">\n", kMargin + x, y) + block.body + "</g>\n";
    width = std::max(width, x + block.width);
  };
  if (map.grids.empty()) {
    map.grids.push_back(NoTensors(report));
  } else {
    place(map.scale, 0);
    place(map.marks, map.scale.width + kBetween);
    y += map.scale.height + kBetween;
  }
  for (const HeatMapBlock& grid : map.grids) {
    place(grid, 0);
    y += grid.height + kBetween;
  }
  width += 2 * kMargin;
  const double height = y - kBetween + kMargin;
  return fmt::format(
             R"(<svg xmlns="http://www.w3.org/2000/svg" class="heat" role="img" aria-labelledby="name" width="{0:.0f}" )"
             R"(height="{1:.0f}" viewBox="0 0 {0:.0f} {1:.0f}">)",
             width, height) +
         "\n<title id=\"name\">Share of elements changed, by layer and module: " + subject + "</title>\n<style>\n" +
         HeatMapStyle() + "</style>\n" +
         fmt::format(R"(<rect class="paper" width="{:.0f}" height="{:.0f}"/>)", width, height) +
         fmt::format(R"(<text class="title" x="{0}" y="{1}">Where the changes are</text>)", kMargin, kMargin + 8) +
         fmt::format(R"(<text class="small" x="{0}" y="{1}">{2}</text>)", kMargin, kMargin + 26, subject) + '\n' +
         body + "</svg>\n";
}

}  // namespace wdelta
