#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "markup.h"
#include "stats/stats_view.h"
#include "support/made_stats.h"

namespace wdelta {

namespace {

bool Has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

StatsView ViewOf(const StatsReport& report, const std::string& by) {
  StatsView view{report, by, {}, 0, {}, {}};
  if (by != "step") view.rows = Group(report.tensors, by == "layer" ? GroupBy::kLayer : GroupBy::kTensor);
  return view;
}

// What Markdown reads in a line: without code spans, and without what a backslash has made plain.
std::string ReadByMarkdown(const std::string& line) {
  std::string rest;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == '`') {
      i = line.find('`', i + 1);
      REQUIRE(i != std::string::npos);
    } else {
      rest += line[i];
    }
  }
  return rest;
}

}  // namespace

TEST_CASE("a name becomes one code span, whatever is in it") {
  CHECK(MarkdownName("model.layers.0") == "`model.layers.0`");
  CHECK(MarkdownName("a`b|c\n") == "`a\\x60b\\x7cc\\n`");
  CHECK(MarkdownName("") == "` `");
  CHECK(MarkdownName("ends with \\") == "`ends with \\`");
  const std::string span = MarkdownName(kHostileName);
  CHECK(std::count(span.begin(), span.end(), '`') == 2);
  CHECK(std::count(span.begin(), span.end(), '|') == 0);
  CHECK(MarkdownName(std::string(100'000, 'x')).size() < 300);
}

TEST_CASE("nothing in a sentence means anything to Markdown") {
  CHECK(MarkdownSentence("3 of 4 tensors, in 'a.b': 1.5 %") == "3 of 4 tensors, in 'a.b': 1.5 %");
  CHECK(MarkdownSentence("q_proj _x_ 2^-7") == "q_proj \\_x\\_ 2^-7");
  CHECK(MarkdownSentence("1. no list") == "1\\. no list");
  CHECK(MarkdownSentence("- no list") == "\\- no list");
  CHECK(MarkdownSentence("    no code") == "no code");
  CHECK(MarkdownSentence("@team see #3") == "`@`team see `#`3");
  CHECK(MarkdownSentence("https://www.x.y") == "https\\://www\\.x.y");
  CHECK(MarkdownSentence("<b>&amp;[x](y)") == "\\<b\\>\\&amp;\\[x\\](y)");
  const std::string rest = ReadByMarkdown(MarkdownSentence(kHostileName));
  for (const char c : std::string("<>@#[]*~|&")) CHECK_FALSE(Has(rest, std::string(1, c)));
}

TEST_CASE("hostile names neither break a table nor leave their cells") {
  StatsReport report = MadeReport({MadeTensor(kHostileName, {16, 16}, 9)});
  TensorStats added = MadeTensor(kHostileName + "2", {4}, 4);
  added.kind = ChangeKind::kAdded;
  report.tensors.push_back(added);
  report.names = {kHostileName, "b"};
  report.files = {{kHostileName, ChangeKind::kAdded, false}};
  report.findings = {kHostileName + " is odd"};
  report.exponents = {{"<b>", {{0, 5, 5}}, {}, {}}};
  GateAnswer gate;
  gate.gate.text = "changed(" + kHostileName + ")>0";
  gate.where = kHostileName;
  StatsView view = ViewOf(report, "tensor");
  view.gates = {gate};
  std::istringstream lines(StatsMarkdown(view));
  ptrdiff_t bars_of_table = 0;
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    const std::string rest = ReadByMarkdown(line);
    const ptrdiff_t bars = std::count(rest.begin(), rest.end(), '|');
    if (line.starts_with("|")) {
      if (bars_of_table == 0) bars_of_table = bars;
      CHECK(bars == bars_of_table);
    } else {
      bars_of_table = 0;
      CHECK(bars == 0);
    }
    CHECK_FALSE(Has(rest, "<script"));
    CHECK_FALSE(Has(rest, "<b>"));
    CHECK_FALSE(Has(rest, "@"));
    CHECK_FALSE(Has(rest, "http:"));
    CHECK_FALSE(Has(rest, "www."));
    CHECK_FALSE(Has(line, "\x1b"));
    CHECK_FALSE(Has(line, "\xe2\x80\xae"));
  }
}

TEST_CASE("Markdown says first whether the gates have passed, with a sign and in words") {
  const StatsReport report = MadeModel(2);
  StatsView view = ViewOf(report, "layer");
  CHECK(StatsMarkdown(view).starts_with("## wdelta stats: <0.01 % of the elements changed\n"));
  GateAnswer gate;
  gate.gate.text = "sparsity<0.97";
  gate.measured = 0.99;
  view.gates = {gate};
  CHECK(Has(StatsMarkdown(view), "✅ PASS: the gate passed\n"));
  CHECK(Has(StatsMarkdown(view), "| ✅ PASS | `sparsity<0.97` | 0.99 |"));
  view.gates[0].failed = true;
  CHECK(Has(StatsMarkdown(view), "❌ FAIL: 1 of 1 gate failed\n"));
  CHECK(Has(StatsMarkdown(view), "| ❌ FAIL | `sparsity<0.97` | 0.99 |"));
}

TEST_CASE("a long table is folded, a short one is not") {
  const std::string short_one = StatsMarkdown(ViewOf(MadeModel(3), "layer"));
  CHECK_FALSE(Has(short_one, "<details>"));
  CHECK(Has(short_one, "### by layer\n\n| layer |"));
  const std::string long_one = StatsMarkdown(ViewOf(MadeModel(28), "layer"));
  CHECK(Has(long_one, "<details>\n<summary>by layer: 29 rows</summary>\n\n"));
  CHECK(Has(long_one, "\n</details>\n"));
  CHECK(Has(StatsMarkdown(ViewOf(MadeRecords(200), "step")), "<summary>by record: 200 rows</summary>"));
}

TEST_CASE("Markdown stays below 900 KiB and says how many rows it left out") {
  std::vector<TensorStats> tensors;
  for (int i = 0; i < 12'000; ++i) {
    tensors.push_back(MadeTensor(std::to_string(i) + std::string(300, '|'), {16, 16}, 1));
    if (i % 2 == 0) tensors.back().kind = ChangeKind::kAdded;
  }
  StatsReport report = MadeReport(tensors);
  report.findings.assign(5'000, std::string(5'000, '<'));
  report.names.assign(5'000, std::string(5'000, '|'));
  for (int i = 0; i < 5'000; ++i) report.files.push_back({std::string(5'000, '|'), ChangeKind::kAdded, false});
  const std::string text = StatsMarkdown(ViewOf(report, "tensor"));
  CHECK(text.size() < 900 * 1024);
  CHECK(text.size() > 800 * 1024);
  CHECK(Has(text, " more rows did not fit into a job summary; `--format csv` or `--format html` shows all\n"));
  CHECK(Has(text, "- and 4,900 more; `--format human` shows all\n"));
  CHECK(Has(text, "and 5,900 more"));
}

}  // namespace wdelta
