// What was found unusual, which limits were set, and what an earlier report said.
#include <fmt/format.h>

#include <cmath>

#include "numbers.h"
#include "stats/stats_page.h"
#include "stats/stats_page_markup.h"
#include "stats/stats_words.h"

namespace wdelta {

namespace {

std::string Verdict(bool failed) {
  return failed ? "<span class=\"failed\">\u2717 failed</span>" : "<span class=\"ok\">\u2713 passed</span>";
}

std::string Measured(const std::optional<double>& figure, bool is_share) {
  if (!figure) return "-";
  return is_share ? FineShare(*figure) : ShortFigure(*figure);
}

std::string Difference(const FigureChange& change) {
  if (!change.before || !change.now) return "-";
  const double difference = *change.now - *change.before;
  if (difference == 0) return "0";
  const std::string sign = difference > 0 ? "+" : "\u2212";
  if (!change.is_share) return sign + ShortFigure(std::abs(difference));
  return sign + fmt::format("{:.3g} points", 100 * std::abs(difference));
}

// On a page sentences begin as sentences do.
std::string Sentence(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return MarkupText(text, 600);
}

std::string Findings(const StatsReport& report) {
  if (report.findings.empty()) return "";
  std::string list = "<ul class=\"findings\">\n";
  for (const std::string& finding : report.findings) list += "<li>" + Sentence(finding) + "</li>\n";
  return "<section>\n<h2>Worth a look</h2>\n" + list + "</ul>\n</section>\n";
}

std::string Gates(const StatsView& view) {
  if (view.gates.empty()) return "";
  std::string rows;
  for (const GateAnswer& answer : view.gates) {
    const std::string where = answer.where.empty() ? "" : " (" + MarkupText(answer.where, 60) + ")";
    rows += fmt::format("<tr{}><td>{}</td><td class=\"name\">{}</td><td class=\"n\">{}</td></tr>\n",
                        answer.failed ? " class=\"over\"" : "", Verdict(answer.failed), MarkupText(answer.gate.text),
                        RealTextBeside(answer.measured, answer.gate.limit) + where);
  }
  return PageSection("Limits", "Each line is a condition that must not be true.",
                     PageTable("Limits", {{"Verdict"}, {"Fails if"}, {"Measured", true}}, rows));
}

std::string Comparison(const StatsView& view) {
  if (view.changes.empty()) return "";
  std::string rows;
  for (const FigureChange& change : view.changes) {
    rows += fmt::format(
        "<tr{}><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
        change.failed ? " class=\"over\"" : "", MarkupText(change.name), Measured(change.before, change.is_share),
        Measured(change.now, change.is_share), Difference(change), change.failed ? Verdict(true) : "");
  }
  return PageSection(
      "Against the earlier report", "A line is marked if it moved by more than was tolerated.",
      PageTable("Comparison with an earlier report",
                {{"Figure"}, {"Earlier", true}, {"Now", true}, {"Difference", true}, {"Verdict"}}, rows));
}

}  // namespace

std::string VerdictSections(const StatsView& view) {
  return Findings(view.report) + Gates(view) + Comparison(view);
}

}  // namespace wdelta
