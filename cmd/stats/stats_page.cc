// `stats` as one page that loads nothing, made of the same parts as the other forms. Its order is that of a reader's
// questions: how much, is it within limits, when, where, which weights, and then every row.
#include "stats/stats_page.h"

#include <fmt/format.h>

#include "markup.h"
#include "stats/heat_map.h"
#include "stats/stats_parts.h"

namespace wdelta {

namespace {

constexpr uint64_t kMostRows = 5000;    // enough for every tensor of most models; a browser still sorts them at once
constexpr uint64_t kMostOfAKind = 200;  // of added tensors, of files and so on
constexpr uint64_t kMostOnPaper = 100;  // as the style sheet has it
constexpr size_t kLongestSentence = 600;

// Nothing may be fetched, whatever a name might smuggle in; the style and the script are the page's own.
constexpr const char* kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

// On a page titles and sentences begin as they do in a book.
std::string Sentence(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return MarkupText(text, kLongestSentence);
}

// Everything goes through MarkupText, words of ours too: "<0.01 %" is one of them.
std::string CellMarkup(const PartColumn& column, const PartCell& cell) {
  switch (column.kind) {
    case Kind::kName:
      return "<td class=\"name\">" + NameMarkup(cell.text) + "</td>";
    case Kind::kFigure:
      return "<td class=\"n\">" + MarkupText(cell.text) + "</td>";
    case Kind::kBar:
      if (!(cell.bar > 0)) return "<td class=\"share\"></td>";
      return fmt::format("<td class=\"share\"><span style=\"width:{:.2f}%\"></span></td>",
                         100 * std::min(cell.bar, 1.0));
    case Kind::kVerdict:
      return cell.text == VerdictWord(true) ? "<td class=\"failed\">✗ " + cell.text + "</td>"
                                            : "<td class=\"ok\">✓ " + cell.text + "</td>";
    case Kind::kWord:
      break;
  }
  return "<td>" + MarkupText(cell.text) + "</td>";
}

std::string TableMarkup(const StatsPart& part, bool is_sortable) {
  std::string table = is_sortable ? "<table class=\"sortable\">\n<thead><tr>" : "<table>\n<thead><tr>";
  for (const PartColumn& column : part.columns) {
    table += fmt::format("<th scope=\"col\"{}>{}</th>", column.kind == Kind::kFigure ? " class=\"n\"" : "",
                         Sentence(column.title));
  }
  table += "</tr></thead>\n<tbody>\n";
  for (const auto& row : part.rows) {
    table +=
        part.columns[0].kind == Kind::kVerdict && row[0].text == VerdictWord(true) ? "<tr class=\"over\">" : "<tr>";
    for (size_t i = 0; i < row.size(); ++i) table += CellMarkup(part.columns[i], row[i]);
    table += "</tr>\n";
  }
  return WideBox(Sentence(part.title), table + "</tbody>\n</table>\n", is_sortable ? " rows" : "");
}

// What a part says in words: its explanation, its legend, and what is not shown of it.
std::string NoteMarkup(const StatsPart& part) {
  std::string note;
  const auto add = [&](const std::string& sentence) { note += (note.empty() ? "" : " ") + Sentence(sentence) + '.'; };
  if (!part.explanation.empty()) add(part.explanation);
  for (const std::string& line : part.legend) add(line);
  if (part.more > 0) {
    add("shown are " + Grouped(part.rows.size()) + " of " + Grouped(part.rows.size() + part.more) +
        " rows; '--format human --top 0' shows all");
  }
  return note;
}

std::string PartSection(const StatsPart& part, bool is_sortable = false) {
  if (part.empty()) return "";
  std::string content;
  for (const std::string& sentence : part.sentences) content += "<li>" + Sentence(sentence) + "</li>\n";
  if (!content.empty()) content = "<ul class=\"findings\">\n" + content + "</ul>\n";
  if (!part.rows.empty()) content += TableMarkup(part, is_sortable);
  std::string note = NoteMarkup(part);
  if (is_sortable && part.rows.size() > kMostOnPaper) {
    note += fmt::format("<span class=\"onpaper\">On paper only the first {} rows.</span>", kMostOnPaper);
  }
  return PageSection(Sentence(part.title), note, content);
}

std::string HeadSection(const StatsView& view, const PartChoice& choice) {
  const StatsReport& report = view.report;
  const auto name_markup = [](const std::string& name) {
    return "<span class=\"name\">" + NameMarkup(name, 72) + "</span>";
  };
  std::string sentences;
  for (const std::string& sentence : OpeningSentences(view, kFineDigits)) {
    // Boxes tell what the other sentences do, but not of records.
    if (!sentences.empty() && report.has_tensors()) break;
    sentences += sentences.empty() ? MarkupText(sentence, kLongestSentence) : ". " + Sentence(sentence);
  }
  std::vector<Fact> facts = TotalFacts(report, choice);
  for (Fact& fact : UntouchedFacts(report, choice)) facts.push_back(std::move(fact));
  std::string boxes;
  for (const Fact& fact : facts) {
    if (fact.is_in_opening) continue;
    const std::string below = fact.meaning + fact.context;
    const size_t begin = std::min(below.find_first_not_of(" ,"), below.size());  // it stands on a line of its own
    boxes += fmt::format("<div><dt>{}</dt><dd>{}<small>{}</small></dd></div>\n", Sentence(fact.name),
                         MarkupText(fact.figure), MarkupText(below.substr(begin)));
  }
  return fmt::format(
      "<header>\n<p class=\"kicker\">wdelta stats</p>\n<h1>{}</h1>\n<p class=\"lead\">{}: {}.</p>\n"
      "{}</header>\n",
      Sentence(HeadlineText(report, kFineDigits)), SubjectText(report, name_markup), sentences,
      boxes.empty() ? "" : "<dl class=\"facts\">\n" + boxes + "</dl>\n");
}

std::string HeatMapSection(const StatsReport& report) {
  const HeatMap map = DrawHeatMap(report);
  if (map.grids.empty()) return "";
  std::string maps;
  for (const HeatMapBlock& grid : map.grids) maps += WideBox(grid.label, InlineSvg(grid));
  std::string note =
      "Each cell sums up the tensors of one module in one layer; its figure is the share of their elements that "
      "changed, in per cent. ";
  if (!report.has_tallies()) {
    note +=
        "A delta names only the tensors that it touches: shares are of those, and a tensor that is not in it did not "
        "change or does not exist. ";
  }
  note += "Point at a cell for exact numbers.";
  return PageSection("Where the changes are", note,
                     "<div class=\"maps legend\">" + InlineSvg(map.scale) + InlineSvg(map.marks) +
                         "</div>\n<div class=\"maps\">" + maps + "</div>\n");
}

// The steps stand beside the magnitudes: both say how updates meet the grid of numbers that a type has.
std::string WeightSection(const StatsReport& report, const PartChoice& choice) {
  const StatsPart steps = StepPart(report.steps, choice);
  std::string charts = ExponentCharts(report);
  if (!steps.empty()) {
    charts += fmt::format("<div>\n<h3>{}</h3>\n{}<p class=\"note\">{}</p>\n</div>\n", Sentence(steps.title),
                          TableMarkup(steps, false), NoteMarkup(steps));
  }
  if (charts.empty()) return "";
  return PageSection("Which weights changed, and how far",
                     "Upper plot: changed share by magnitude on a logarithmic scale, hollow where none changed. Lower "
                     "plot: how many weights stand behind each point.",
                     "<div class=\"charts\">\n" + charts + "</div>\n");
}

std::string FooterText(const StatsReport& report) {
  std::string text =
      "An element is one number of a tensor; of types smaller than a byte, one byte. An added, reshaped or retyped "
      "tensor counts as changed in all its elements.";
  if (!report.base.state.empty() || !report.result.state.empty()) {
    text += " State " + MarkupText(StatesText(report.base, report.result)) + ".";
  }
  return text;
}

}  // namespace

std::string PageSection(std::string_view title, std::string_view note, std::string_view content) {
  return fmt::format("<section>\n<h2>{}</h2>\n<p class=\"note\">{}</p>\n{}</section>\n", title, note, content);
}

std::string WideBox(std::string_view label, std::string_view content, std::string_view further_class) {
  return fmt::format("<div class=\"wide{}\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n{}</div>\n",
                     further_class, label, content);
}

std::string StatsHtml(const StatsView& view) {
  const StatsReport& report = view.report;
  const auto choice = [&](uint64_t most) {
    return PartChoice{.top = view.top == 0 ? most : std::min(view.top, most), .is_page = true};
  };
  std::string page = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  page += fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n", kPolicy);
  page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  page += "<meta name=\"referrer\" content=\"no-referrer\">\n";
  page += "<link rel=\"icon\" href=\"data:,\">\n";  // else a browser asks the server for one
  page += "<title>wdelta stats: " + SubjectText(report, [](const std::string& name) { return MarkupText(name, 60); }) +
          "</title>\n";
  page += "<style>" + std::string(kPageStyle) + HeatMapStyle() + "</style>\n</head>\n<body>\n<main>\n";
  page += HeadSection(view, choice(0));
  for (const StatsPart& part : VerdictParts(view)) page += PartSection(part);
  page += RecordSection(report) + HeatMapSection(report) + WeightSection(report, choice(0));
  for (const StatsPart& part : DetailParts(view, choice(kMostOfAKind))) page += PartSection(part);
  page += PartSection(MainPart(view, choice(kMostRows)), true);
  page += "<footer>" + FooterText(report) + "</footer>\n</main>\n<script>" + kPageScript + "</script>\n";
  return page + "</body>\n</html>\n";
}

}  // namespace wdelta
