#include "stats/heat_map_colours.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wdelta {

namespace {

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

}  // namespace

int HeatStep(double position) {
  return std::clamp(static_cast<int>(position * kHeatSteps), 0, kHeatSteps - 1);
}

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

}  // namespace wdelta
