#include <doctest/doctest.h>

#include "stats/stats_view.h"
#include "support/made_stats.h"

namespace wdelta {

namespace {

bool Has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

StatsView ViewOf(const StatsReport& report, const std::string& by, uint64_t top = 0) {
  StatsView view{report, by, {}, top, {}, {}};
  if (by != "step") view.rows = Group(report.tensors, by == "layer" ? GroupBy::kLayer : GroupBy::kTensor);
  return view;
}

}  // namespace

TEST_CASE("the page tells the parts of the other forms, with more digits and more columns") {
  StatsReport report = MadeModel(2);
  report.delta_bytes = 1000;
  report.steps = {{1, 1, 90, 77}};
  report.exponents = {{"BF16", {{-3, 1000, 7}, {-2, 1000, 0}}, {}, {}}};
  report.encodings = {{"wdelta", "", 1000, false}};
  report.findings = {"something is odd"};
  const std::string page = StatsHtml(ViewOf(report, "tensor"));
  for (const char* words : {"<h1>0.00799 % of the elements changed</h1>", "<dt>Ratio</dt><dd>4,178", "<li>Something is",
                            "<h2>Largest movers</h2>", "<h3>By steps</h3>", "BF16: share changed", "Bits per change",
                            "<h2>By tensor</h2>", "<th scope=\"col\">Change</th>"}) {
    CAPTURE(words);
    CHECK(Has(page, words));
  }
  CHECK_FALSE(Has(page, "by exponent"));
  CHECK_FALSE(Has(page, "&lt;0.01 %"));
}

TEST_CASE("--top limits the rows of the page, and a sentence says so") {
  CHECK(Has(StatsHtml(ViewOf(MadeModel(28), "layer", 5)), "Shown are 5 of 29 rows;"));
  CHECK_FALSE(Has(StatsHtml(ViewOf(MadeModel(28), "layer")), "Shown are "));
  const std::string history = StatsHtml(ViewOf(MadeRecords(200), "step", 20));
  CHECK(Has(history, "<td class=\"n\">200</td>"));
  CHECK_FALSE(Has(history, "<td class=\"n\">180</td>"));
}

TEST_CASE("hostile names are only text on the page and in the picture") {
  StatsReport report = MadeReport({MadeTensor(kHostileName, {16, 16}, 9)});
  report.names[0] = report.exponents.emplace_back().dtype = kHostileName;
  report.exponents[0].tiny.elements = 1;
  report.findings = {kHostileName};
  report.files = {{kHostileName, ChangeKind::kAdded, false}};
  for (const std::string& text : {StatsHtml(ViewOf(report, "tensor")), HeatMapSvg(report)}) {
    CHECK(Has(text, "&lt;script&gt;"));
    for (const char* bad : {"<script>alert", "\x1b", "\xe2\x80\xae", "\xff", "\r"}) CHECK_FALSE(Has(text, bad));
  }
  const StatsReport records = [] {
    StatsReport made = MadeRecords(3);
    for (StatsRecord& record : made.records) record.name = kHostileName;
    return made;
  }();
  CHECK_FALSE(Has(StatsHtml(ViewOf(records, "step")), "<script>alert"));
}

}  // namespace wdelta
