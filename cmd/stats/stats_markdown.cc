// `stats` as GitHub flavoured Markdown, fit for the summary of a CI job: what must not be missed comes first, long
// tables are folded, and the whole stays below what such a summary takes (1 MiB, with room for other steps).
#include <algorithm>

#include "numbers.h"
#include "stats/stats_markdown_text.h"
#include "stats/stats_parts.h"
#include "stats/stats_view.h"
#include "stats/stats_words.h"
#include "table.h"

namespace wdelta {

namespace {

using Kind = PartColumn::Kind;

constexpr size_t kMostBytes = 900 * 1024;
constexpr size_t kFoldedFrom = 20;      // rows
constexpr uint64_t kMostOfAKind = 100;  // of added tensors, of files and so on; only the rows of the view may be more
constexpr size_t kMostSentences = 100;
constexpr size_t kBarWidth = 10;

std::string CellText(const PartColumn& column, const PartCell& cell) {
  switch (column.kind) {
    case Kind::kName:
      return cell.text.empty() ? "" : MarkdownName(cell.text);
    case Kind::kBar:
      return BlockBar(cell.bar, kBarWidth);
    case Kind::kVerdict:
      return (cell.text == VerdictWord(true) ? "❌ " : "✅ ") + cell.text;
    default:
      return cell.text;
  }
}

std::string LineOf(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += ' ' + cell + " |";
  return line + '\n';
}

// At most `most_bytes`, ended by what was left out if that was necessary.
std::string TableText(const StatsPart& part, size_t most_bytes) {
  std::vector<std::string> titles, rules;
  for (const PartColumn& column : part.columns) {
    titles.push_back(column.title);
    rules.emplace_back(column.kind == Kind::kFigure ? "---:" : "---");
  }
  std::string text = LineOf(titles) + LineOf(rules);
  const size_t reserve = 300;  // for the sentence at the end
  size_t shown = 0;
  for (const auto& row : part.rows) {
    std::vector<std::string> cells;
    for (size_t i = 0; i < row.size(); ++i) cells.push_back(CellText(part.columns[i], row[i]));
    const std::string line = LineOf(cells);
    if (text.size() + line.size() + reserve > most_bytes) break;
    text += line;
    ++shown;
  }
  if (shown < part.rows.size()) {
    text += "\n" + Grouped(part.rows.size() - shown) +
            " more rows did not fit into a job summary; `--format csv` or `--format html` shows all\n";
  }
  if (part.more > 0) {
    text +=
        "\nand " + Grouped(part.more) + " more" + (part.more_before ? " before these" : "") + "; `--top 0` shows all\n";
  }
  return text;
}

std::string PartText(const StatsPart& part, size_t most_bytes) {
  std::string text;
  const bool is_folded = part.rows.size() > kFoldedFrom;
  if (is_folded) {
    text +=
        "<details>\n<summary>" + MarkdownTag(part.title) + ": " + Counted(part.rows.size(), "row") + "</summary>\n\n";
  } else if (!part.title.empty()) {
    text += "### " + MarkdownSentence(part.title) + "\n\n";
  }
  if (!part.explanation.empty()) text += part.explanation + "\n\n";
  for (size_t i = 0; i < std::min(part.sentences.size(), kMostSentences); ++i) {
    text += "- " + MarkdownSentence(part.sentences[i]) + '\n';
  }
  if (part.sentences.size() > kMostSentences) {
    text += "- and " + Grouped(part.sentences.size() - kMostSentences) + " more; `--format human` shows all\n";
  }
  std::string legend;
  for (const std::string& line : part.legend) legend += "\n" + line + '\n';
  const size_t used = text.size() + legend.size() + 20;
  if (!part.rows.empty()) text += TableText(part, most_bytes > used ? most_bytes - used : 0);
  text += legend;
  return text + (is_folded ? "\n</details>\n\n" : "\n");
}

std::string TotalsTable(const StatsView& view) {
  const StatsReport& report = view.report;
  const Totals& totals = report.totals;
  std::string text = LineOf({"figure", "value"}) + LineOf({"---", "---:"});
  const auto add = [&](const std::string& figure, const std::string& value) { text += LineOf({figure, value}); };
  const auto add_change = [&](const char* noun, uint64_t changed, uint64_t total) {
    add(std::string(noun) + " changed",
        Grouped(changed) + " of " + Grouped(total) + " (" + Percent(changed, total) + ")");
  };
  if (!report.has_tensors()) return "";
  add_change("elements", totals.elements_changed, totals.elements_total);
  if (totals.elements_total > 0) {
    const uint64_t same = totals.elements_total - std::min(totals.elements_changed, totals.elements_total);
    add("sparsity (1 - changed/total over the whole model)", Percent(same, totals.elements_total));
  }
  add_change("tensors", totals.tensors_changed, totals.tensors_total);
  add("tensors added, removed", Grouped(totals.tensors_added) + ", " + Grouped(totals.tensors_removed));
  add("other files changed", Grouped(totals.files_changed));
  if (report.delta_bytes) {
    add("bytes of the delta", Grouped(*report.delta_bytes));
    add("bytes of all tensors", Grouped(totals.bytes_total));
    add("ratio", RatioText(totals.bytes_total, report.delta_bytes));
  }
  return text + '\n';
}

std::string Heading(const StatsView& view) {
  constexpr size_t kMostNames = 3;
  const std::string verdict = VerdictText(view);
  const bool failed = std::any_of(view.gates.begin(), view.gates.end(), [](const auto& gate) { return gate.failed; }) ||
                      std::any_of(view.changes.begin(), view.changes.end(), [](const auto& c) { return c.failed; });
  std::string text = "## wdelta stats: " + HeadlineText(view.report) + "\n\n";
  if (!verdict.empty()) text += (failed ? "❌ FAIL: " : "✅ PASS: ") + verdict + "\n\n";
  const std::vector<std::string>& names = view.report.names;
  for (size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
    text += (i == 0 ? "" : view.report.has_tensors() ? " → " : ", ") + MarkdownName(names[i]);
  }
  if (names.size() > kMostNames) text += " and " + Grouped(names.size() - kMostNames) + " more";
  return text + (names.empty() ? "" : "\n\n");
}

}  // namespace

std::string StatsMarkdown(const StatsView& view) {
  std::string head = Heading(view);
  const std::string totals = TotalsTable(view);
  if (totals.empty()) {
    for (const std::string& sentence : OpeningSentences(view)) head += "- " + sentence + '\n';
    head += '\n';
  }
  head += totals;
  for (const StatsPart& part : VerdictParts(view)) head += PartText(part, kMostBytes);

  // The rows of the view take what the rest, which is bounded, has left.
  const uint64_t most = view.top == 0 ? kMostOfAKind : std::min(view.top, kMostOfAKind);
  std::string tail;
  for (const StatsPart& part : DetailParts(view, {most, false})) tail += PartText(part, kMostBytes);
  const StatsPart rows = MainPart(view, {view.top, false});
  const size_t used = head.size() + tail.size();
  return head + (rows.empty() ? "" : PartText(rows, kMostBytes > used ? kMostBytes - used : 0)) + tail;
}

}  // namespace wdelta
