// `stats` as GitHub flavoured Markdown, fit for the summary of a CI job: what must not be missed comes first, long
// tables are folded, and the whole stays below what such a summary takes (1 MiB, with room for other steps).
#include "markup.h"
#include "stats/stats_parts.h"
#include "table.h"

namespace wdelta {

namespace {

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

std::string TotalsTable(const StatsReport& report) {
  const std::vector<Fact> facts = TotalFacts(report, {});
  if (facts.empty()) return "";
  std::string text = LineOf({"figure", "value"}) + LineOf({"---", "---:"});
  for (const Fact& fact : facts) {
    text += LineOf({fact.name + (fact.meaning.empty() ? "" : " (" + fact.meaning + ")"), fact.figure + fact.context});
  }
  return text + '\n';
}

std::string Heading(const StatsView& view) {
  const std::string verdict = VerdictText(view), names = SubjectText(view.report, MarkdownName);
  std::string headline = HeadlineText(view.report);
  if (const std::string records = RecordsText(view.report); headline != records && !records.empty()) {
    headline += ", " + records;
  }
  std::string text = "## wdelta stats: " + headline + "\n\n";
  if (!verdict.empty()) text += (HasFailed(view) ? "❌ FAIL: " : "✅ PASS: ") + verdict + "\n\n";
  return text + (names.empty() ? "" : names + "\n\n");
}

}  // namespace

std::string StatsMarkdown(const StatsView& view) {
  std::string head = Heading(view);
  const std::string totals = TotalsTable(view.report);
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
