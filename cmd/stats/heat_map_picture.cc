// The heat map as a picture, alone in its file or as a piece of the page, and its colours.
#include <fmt/format.h>

#include <algorithm>

#include "markup.h"
#include "stats/heat_map.h"
#include "stats/stats_words.h"

namespace wdelta {

namespace {

constexpr double kMargin = 28, kBetween = 26;

// Pale yellow to deep blue, in OKLCh, which is made so that equal steps of lightness look equal: lightness from 0.955
// to 0.3, hue from 104 to 270 degrees, and as much chroma, from 0.075 over 0.115 to 0.075, as a screen can show.
constexpr const char* kRamp[kHeatSteps] = {"#f8f3b9", "#e8edae", "#d7e6a5", "#c6df9e", "#b3d998", "#9fd294",
                                           "#8bcb92", "#75c491", "#5fbc91", "#47b492", "#2cac93", "#08a394",
                                           "#059893", "#088d90", "#02838e", "#08788a", "#046e86", "#016582",
                                           "#015b7e", "#02507a", "#124672", "#1a3d68", "#1e335e", "#1f2a53"};
// Black reads better on those before this one, white on the others; the better one always has more than 4.5 to 1.
constexpr int kFirstWithWhiteInk = 15;

std::string StepColours(bool much_is_dark) {
  std::string style;
  for (int step = 0; step < kHeatSteps; ++step) {
    const int colour = much_is_dark ? step : kHeatSteps - 1 - step;
    style += fmt::format(".heat .h{0} rect{{fill:{1}}}.heat .h{0} text{{fill:{2}}}\n", step, kRamp[colour],
                         colour < kFirstWithWhiteInk ? "#000" : "#fff");
  }
  return style;
}

// What is shown where a map cannot be.
HeatMapBlock NoTensors(const StatsReport& report) {
  const std::string why = report.has_tensors() ? "There is no tensor to draw: neither side has any."
                                               : "Records say how much changed, but not where.";
  const std::string hint = report.has_tensors() ? "" : "Give two checkpoints, or one delta, to see layers and modules.";
  return {460, 44, "No heat map",
          fmt::format(R"(<text y="14">{}</text><text class="small" y="36">{}</text>)", why, hint)};
}

}  // namespace

std::string HeatMapStyle() {
  return R"(.heat text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:#1c2128}
.heat .title{font-size:14px;font-weight:600}
.heat .small{font-size:11px;fill:#57606a}
.heat .figure text{font-size:10.5px;text-anchor:middle;font-variant-numeric:tabular-nums}
.heat .end{text-anchor:end}
.heat .middle{text-anchor:middle}
.heat .paper{fill:#fff}
.heat .tick{stroke:#57606a}
.heat .none rect{fill:none;stroke:#b4bcc5}
.heat .none circle{fill:#6e7781}
.heat .absent path{stroke:#c3cad1;fill:none}
)" + StepColours(true) +
         R"(@media screen and (prefers-color-scheme:dark){
.heat text{fill:#e6e9ed}
.heat .small{fill:#9aa4af}
.heat .paper{fill:#101418}
.heat .tick{stroke:#9aa4af}
.heat .none rect{stroke:#4a535d}
.heat .none circle{fill:#9aa4af}
.heat .absent path{stroke:#39414a}
)" + StepColours(false) +
         "}\n";
}

std::string InlineSvg(const HeatMapBlock& block) {
  return fmt::format(
             R"(<svg class="heat" role="img" aria-label="{0}" width="{1:.0f}" height="{2:.0f}" viewBox="0 0 {1:.0f} {2:.0f}">)",
             block.label, block.width, block.height) +
         '\n' + block.body + "</svg>\n";
}

std::string HeatMapSvg(const StatsReport& report) {
  HeatMap map = DrawHeatMap(report);
  const std::string subject = SubjectText(report, [](const std::string& name) { return MarkupText(name, 40); });
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
