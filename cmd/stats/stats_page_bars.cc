// What is shown as bars in tables: how far changed elements moved, and what encodings take.
#include <fmt/format.h>

#include <algorithm>

#include "numbers.h"
#include "stats/stats_page.h"
#include "stats/stats_page_markup.h"

namespace wdelta {

std::string StepBars(const StatsReport& report) {
  uint64_t most = 0, all = 0;
  for (const StepRow& row : report.steps) {
    most = std::max({most, row.down, row.up});
    all += row.down + row.up;
  }
  if (all == 0) return "";
  std::string rows;
  for (const StepRow& row : report.steps) {
    const std::string range =
        row.least == row.most ? Grouped(row.least) : Grouped(row.least) + "\u2013" + Grouped(row.most);
    rows += fmt::format("<tr><td class=\"n\">{}</td><td class=\"n\">{}</td>{}{}<td class=\"n\">{}</td></tr>\n", range,
                        FineShare(row.down, all), BarCell(PartOf(row.down, most), "left"),
                        BarCell(PartOf(row.up, most)), FineShare(row.up, all));
  }
  return "<div>\n<h3>Steps of the changed elements, down and up</h3>\n" +
         PageTable("Steps", {{"Steps", true}, {"Down", true}, {""}, {""}, {"Up", true}}, rows) +
         "<p class=\"note\">A step leads from one number that the type can hold to the next. Shares are of all " +
         Counted(all, "changed element") + ".</p>\n</div>\n";
}

std::string EncodingSection(const StatsReport& report) {
  if (report.encodings.empty()) return "";
  uint64_t most = 1;
  for (const EncodingSize& encoding : report.encodings) most = std::max(most, encoding.bytes);
  std::string rows;
  for (const EncodingSize& encoding : report.encodings) {
    const double bits = report.totals.elements_changed ? 8.0 * static_cast<double>(encoding.bytes) /
                                                             static_cast<double>(report.totals.elements_changed)
                                                       : 0;
    const std::string users = encoding.is_bound        ? "a bound"
                              : encoding.users.empty() ? ""
                                                       : MarkupText(encoding.users, 80);
    rows += fmt::format(
        "<tr{}><td>{}<br><span class=\"axis\">{}</span></td>{}<td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        encoding.is_bound ? " class=\"bound\"" : "", MarkupText(encoding.name, 80), users,
        BarCell(static_cast<double>(encoding.bytes) / static_cast<double>(most)), ByteSize(encoding.bytes),
        bits > 0 ? fmt::format("{:.2f}", bits) : "-");
  }
  return PageSection(
      "What it takes to send",
      "The same delta in each encoding. A hatched bar is a bound: an entropy, below which no encoding of "
      "its kind can go.",
      PageTable("Encodings", {{"Encoding"}, {""}, {"Size", true}, {"Bits per change", true}}, rows));
}

}  // namespace wdelta
