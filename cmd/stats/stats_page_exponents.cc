// Which weights changed, by their magnitude. A number of few bits shows an update only if the update is not too small
// beside it, so the share falls as weights grow: this chart shows where.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "numbers.h"
#include "stats/stats_page.h"
#include "stats/stats_page_chart.h"
#include "stats/stats_page_markup.h"

namespace wdelta {

namespace {

constexpr double kTop = 28, kBottom = 190, kCountsTop = 232, kCountsBottom = 288, kHeight = 330;

struct Band {
  std::string label, tooltip;
  uint64_t elements = 0, elements_changed = 0;
  bool is_magnitude = true;  // else of numbers that have none, beside the others
  double share() const { return static_cast<double>(elements_changed) / static_cast<double>(elements); }
};

std::string Counts(const ExponentRow& row) {
  return Grouped(row.elements_changed) + " of " + Counted(row.elements, "weight") + " changed (" +
         FineShare(row.elements_changed, row.elements) + ")";
}

std::vector<Band> BandsOf(const ExponentTable& table) {
  std::vector<Band> bands;
  const auto add = [&](const ExponentRow& row, const std::string& label, const std::string& range, bool is_magnitude) {
    bands.push_back({label, range + ": " + Counts(row), row.elements, row.elements_changed, is_magnitude});
  };
  if (table.tiny.elements > 0) add(table.tiny, "0", "zeros and subnormal numbers", false);
  // Only so many labels as have room, on round exponents.
  const size_t apart = table.rows.size() <= 12 ? 1 : table.rows.size() <= 26 ? 2 : table.rows.size() <= 60 ? 5 : 50;
  for (const ExponentRow& row : table.rows) {
    const bool marked = row.exponent % static_cast<int>(apart) == 0;
    add(row, marked ? PowerOfTwo(row.exponent) : "",
        PowerOfTwo(row.exponent) + " \u2264 |w| &lt; " + PowerOfTwo(row.exponent + 1), true);
  }
  if (table.special.elements > 0) add(table.special, "Inf", "infinities and NaN", false);
  return bands;
}

// How many bits of a number follow its first one; 0: not known here.
int FractionBits(const std::string& dtype) {
  if (dtype == "BF16") return 7;
  if (dtype == "F16") return 10;
  if (dtype == "F32") return 23;
  if (dtype == "F64") return 52;
  return dtype.starts_with("F8_E4M3") ? 3 : dtype.starts_with("F8_E5M2") ? 2 : 0;
}

// The line stops at a band without weights or without change: a logarithm cannot lead through zero.
void DrawShares(Chart* chart, const std::vector<Band>& bands, const LogScale& scale, double band_width) {
  std::string path;
  bool draws = false;
  std::string dots;
  for (size_t i = 0; i < bands.size(); ++i) {
    if (bands[i].elements == 0 || bands[i].elements_changed == 0) draws = false;
    if (bands[i].elements == 0) continue;
    const double x = Chart::kLeft + (static_cast<double>(i) + 0.5) * band_width;
    const double y = ShareHeight(scale, bands[i].elements_changed ? bands[i].share() : 0, kTop, kBottom);
    const bool zero = bands[i].elements_changed == 0;
    dots += fmt::format(R"(<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"/>)", zero ? "zero" : "dot", x, y,
                        std::clamp(band_width / 3, 0.8, 3.2));
    if (zero) continue;
    path += fmt::format("{}{:.1f} {:.1f}", draws && bands[i].is_magnitude ? "L" : "M", x, y);
    draws = bands[i].is_magnitude;
  }
  if (!path.empty()) chart->Add("<path class=\"line\" d=\"" + path + "\"/>");
  chart->Add(dots);
}

std::string DrawTable(const ExponentTable& table) {
  const std::vector<Band> bands = BandsOf(table);
  uint64_t most = 0, elements = 0, changed = 0;
  double least_share = 2, most_share = 0;
  for (const Band& band : bands) {
    most = std::max(most, band.elements);
    elements += band.elements, changed += band.elements_changed;
    if (band.elements_changed == 0) continue;
    least_share = std::min(least_share, band.share()), most_share = std::max(most_share, band.share());
  }
  if (elements == 0) return "";
  const std::string dtype = MarkupText(table.dtype, 24);
  Chart chart(dtype + ": changed share by magnitude", kHeight);
  const LogScale scale = changed ? LogScaleAround(least_share, most_share) : LogScale{};
  const double band_width = (Chart::kRight - Chart::kLeft) / static_cast<double>(bands.size());
  chart.Title(12, dtype + ": share changed, of the weights of this magnitude");
  DrawShareGrid(&chart, scale, kTop, kBottom);
  chart.Title(kCountsTop - 14, "weights of this magnitude, of " + Grouped(elements));
  chart.GridLine(kCountsTop, Percent(most, elements));
  chart.BaseLine(kCountsBottom);
  for (size_t i = 0; i < bands.size(); ++i) {
    const double x = Chart::kLeft + static_cast<double>(i) * band_width;
    const double height =
        (kCountsBottom - kCountsTop) * static_cast<double>(bands[i].elements) / static_cast<double>(most);
    if (bands[i].elements > 0) {
      chart.Add(fmt::format(R"(<rect class="column" x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}"/>)",
                            x + band_width * 0.1, kCountsBottom - height, band_width * 0.8, height));
    }
    if (!bands[i].label.empty()) chart.Text(x + band_width / 2, kCountsBottom + 18, "middle", bands[i].label);
  }
  DrawShares(&chart, bands, scale, band_width);
  for (size_t i = 0; i < bands.size(); ++i) {
    chart.Hover(Chart::kLeft + static_cast<double>(i) * band_width, band_width, kTop, kCountsBottom, bands[i].tooltip);
  }
  chart.Text((Chart::kLeft + Chart::kRight) / 2, kHeight - 4, "middle", "magnitude of the weight in the base, |w|");
  std::string words =
      Grouped(changed) + " of " + Counted(elements, "weight") + " changed (" + FineShare(changed, elements) + ").";
  if (const int bits = FractionBits(table.dtype); bits > 0) {
    words += fmt::format(
        " Neighbours of a {} weight w lie |w| / {} to |w| / {} apart: an update below half of that is "
        "lost in rounding.",
        dtype, Grouped(uint64_t{1} << (bits + 1)), Grouped(uint64_t{1} << bits));
  }
  return "<div>\n" + WideBox(dtype + " by magnitude", chart.Svg()) + "<p class=\"note\">" + words + "</p>\n</div>\n";
}

}  // namespace

std::string ExponentCharts(const StatsReport& report) {
  std::string charts;
  for (const ExponentTable& table : report.exponents) charts += DrawTable(table);
  return charts;
}

std::string MagnitudeSection(const StatsReport& report) {
  const std::string charts = ExponentCharts(report) + StepBars(report);
  if (charts.empty()) return "";
  return PageSection("Which weights changed, and how far",
                     "Upper plot: changed share by magnitude on a logarithmic scale, hollow where none changed. Lower "
                     "plot: how many weights stand behind each point.",
                     "<div class=\"charts\">\n" + charts + "</div>\n");
}

}  // namespace wdelta
