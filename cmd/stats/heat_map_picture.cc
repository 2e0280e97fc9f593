// The heat map as a picture, alone in its file or as a piece of the page, and its colours.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "markup.h"
#include "stats/heat_map.h"
#include "stats/stats_words.h"

namespace wdelta {

namespace {

constexpr double kMargin = 28, kBetween = 26;
constexpr double kPi = 3.14159265358979323846;

struct Colour {
  double red, green, blue;  // linear light, 0 to 1
  bool Exists() const { return std::min({red, green, blue}) >= 0 && std::max({red, green, blue}) <= 1; }
};

// OKLab is made so that equal steps of lightness look equal.
Colour FromOklch(double lightness, double chroma, double hue_degrees) {
  const double a = chroma * std::cos(hue_degrees * kPi / 180), b = chroma * std::sin(hue_degrees * kPi / 180);
  const double l = std::pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
  const double m = std::pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
  const double s = std::pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
  return {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
          -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
          -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
}

// Pale yellow at 0, deep blue at 1. Where a screen cannot show so much colour it gets less, but never another
// lightness.
Colour Ramp(double position) {
  const double lightness = 0.955 - 0.655 * position, hue = 104 + 166 * position;
  for (double chroma = 0.075 + 0.04 * std::sin(kPi * position);; chroma -= 0.002) {
    const Colour colour = FromOklch(lightness, chroma, hue);
    if (colour.Exists() || chroma <= 0) return colour;
  }
}

std::string Hex(const Colour& colour) {
  const auto level = [](double light) {
    const double bent = light <= 0.0031308 ? 12.92 * light : 1.055 * std::pow(light, 1 / 2.4) - 0.055;
    return static_cast<int>(std::lround(255 * bent));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", level(colour.red), level(colour.green), level(colour.blue));
}

// Black or white, whichever reads better on it; the better one always has more than 4.5 to 1.
const char* InkOn(const Colour& colour) {
  const double luminance = 0.2126 * colour.red + 0.7152 * colour.green + 0.0722 * colour.blue;
  return (luminance + 0.05) / 0.05 >= 1.05 / (luminance + 0.05) ? "#000" : "#fff";
}

std::string StepColours(bool much_is_dark) {
  std::string style;
  for (int step = 0; step < kHeatSteps; ++step) {
    const double position = static_cast<double>(step) / (kHeatSteps - 1);
    const Colour colour = Ramp(much_is_dark ? position : 1 - position);
    style +=
        fmt::format(".heat .h{} rect{{fill:{}}}.heat .h{} text{{fill:{}}}\n", step, Hex(colour), step, InkOn(colour));
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
