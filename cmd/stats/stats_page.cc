// The page as a whole: what is around the sections, and the pieces that they share.
#include "stats/stats_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "numbers.h"
#include "stats/heat_map.h"
#include "stats/heat_map_colours.h"
#include "stats/stats_page_markup.h"
#include "stats/stats_page_style.h"

namespace wdelta {

namespace {

// Nothing may be fetched, whatever a name might smuggle in; the style and the script are the page's own.
constexpr const char* kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

std::string FooterText(const StatsReport& report) {
  std::string text = "An element is one number of a tensor; of types smaller than a byte, one byte. ";
  text += "An added, reshaped or retyped tensor counts as changed in all its elements.";
  if (!report.base.state.empty() || !report.result.state.empty()) {
    text += " State " + MarkupText(StatesText(report.base, report.result)) + ".";
  }
  return text;
}

}  // namespace

std::string PageSection(std::string_view title, std::string_view note, std::string_view content) {
  return fmt::format("<section>\n<h2>{}</h2>\n<p class=\"note\">{}</p>\n{}</section>\n", title, note, content);
}

std::string WideBox(std::string_view label, std::string_view content) {
  return fmt::format("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n{}</div>\n", label,
                     content);
}

std::string PageTable(std::string_view label, const std::vector<Column>& columns, std::string_view rows,
                      bool sortable) {
  std::string head;
  for (const Column& column : columns) {
    head += fmt::format("<th scope=\"col\"{}>{}</th>", column.right ? " class=\"n\"" : "", column.title);
  }
  const std::string table = fmt::format("<table{}>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table>\n",
                                        sortable ? " class=\"sortable\"" : "", head, rows);
  return fmt::format("<div class=\"{}\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n{}</div>\n",
                     sortable ? "wide rows" : "wide", label, table);
}

std::string BarCell(double share, std::string_view further_class) {
  return fmt::format("<td class=\"share {}\">{}</td>", further_class,
                     share > 0 ? fmt::format("<span style=\"width:{:.2f}%\"></span>", 100 * std::min(share, 1.0)) : "");
}

std::string SubjectMarkup(const StatsReport& report) {
  const auto name = [](const std::string& text) { return "<span class=\"name\">" + NameMarkup(text, 72) + "</span>"; };
  if (report.names.empty()) return "";
  if (report.names.size() == 2 && report.subject == StatsSubject::kCheckpoints) {
    return name(report.names[0]) + " \u2192 " + name(report.names[1]);
  }
  if (report.names.size() == 1) return name(report.names[0]);
  return name(report.names.front()) + " and " + Counted(report.names.size() - 1, "other");
}

std::string HeatMapSection(const StatsReport& report) {
  const HeatMap map = DrawHeatMap(report);
  if (map.grids.empty()) return "";
  std::string maps;
  for (const HeatMapBlock& grid : map.grids) maps += WideBox(grid.label, InlineSvg(grid));
  std::string note =
      "Each cell sums up the tensors of one module in one layer; its figure is the share of their "
      "elements that changed, in per cent. ";
  if (!report.has_tallies()) {
    note +=
        "A delta names only the tensors that it touches: shares are of those, and a tensor that is not in it did "
        "not change or does not exist. ";
  }
  note += "Point at a cell for exact numbers.";
  return PageSection("Where the changes are", note,
                     "<div class=\"maps legend\">" + InlineSvg(map.scale) + InlineSvg(map.marks) +
                         "</div>\n<div class=\"maps\">" + maps + "</div>\n");
}

std::string StatsHtml(const StatsView& view) {
  const StatsReport& report = view.report;
  std::string page = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  page += fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n", kPolicy);
  page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  page += "<meta name=\"referrer\" content=\"no-referrer\">\n";
  page += "<link rel=\"icon\" href=\"data:,\">\n";  // else a browser asks the server for one
  std::string names;
  for (size_t i = 0; i < std::min<size_t>(report.names.size(), 2); ++i) {
    names += (names.empty() ? ": " : ", ") + MarkupText(report.names[i], 60);
  }
  page += "<title>wdelta stats" + names + "</title>\n<style>" + kPageStyle + HeatMapStyle() + "</style>\n</head>\n";
  page += "<body>\n<main>\n" + HeadSection(view) + VerdictSections(view) + RecordSection(report) +
          HeatMapSection(report) + MagnitudeSection(report) + EncodingSection(report) + MoverSection(report) +
          FormSection(report) + RowSection(view);
  page +=
      "<footer>" + FooterText(report) + "</footer>\n</main>\n<script>" + kPageScript + "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace wdelta
