#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "stats/stats_view.h"
#include "stats/stats_words.h"
#include "support/made_stats.h"
#include "table.h"

namespace wdelta {

namespace {

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool Has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

StatsView ViewOf(const StatsReport& report, const std::string& by, uint64_t top = 0) {
  StatsView view{report, by, {}, top, {}, {}};
  if (by == "layer") view.rows = Group(report.tensors, GroupBy::kLayer);
  if (by == "module") view.rows = Group(report.tensors, GroupBy::kModule);
  if (by == "tensor") view.rows = Group(report.tensors, GroupBy::kTensor);
  return view;
}

GateAnswer MadeGate(const std::string& text, double limit, double measured, bool failed) {
  GateAnswer answer;
  answer.gate.text = text;
  answer.gate.limit = limit;
  answer.measured = measured;
  answer.failed = failed;
  return answer;
}

// Everything that a report can hold.
StatsReport FullReport() {
  StatsReport report = MadeModel(28);
  report.delta_bytes = 12345;
  TensorStats added = MadeTensor("model.extra.weight", {8, 8}, 64);
  added.kind = ChangeKind::kAdded;
  report.tensors.push_back(added);
  report.files = {{"config.json", ChangeKind::kChanged, false}};
  report.exponents = {{"BF16", {}, {-127, 900, 0}, {}}};
  for (int e = -40; e <= 0; ++e) report.exponents[0].rows.push_back({e, e < -10 ? 10U : 100'000U, e < -10 ? 5U : 7U});
  report.steps = {{1, 1, 900'000, 800'000}, {2, 2, 90, 80}, {3, 4, 9, 8}, {5, 8, 1, 0}};
  report.nan = 3;
  report.encodings = {{"wdelta", "", 12345, false},
                      {"XOR, zstd -1", "slime, SGLang, Stitch, ModelExpress", 40000, false},
                      {"entropy of the steps, given the base's exponents", "", 11000, true}};
  report.findings = {"3 elements are NaN, where the base had 0; the first tensor with more is 'model.extra.weight'"};
  return report;
}

}  // namespace

TEST_CASE("text opens with totals, sparsity and its definition, size and ratio") {
  StatsReport report = MadeModel(2);
  report.delta_bytes = 1000;
  const std::vector<std::string> lines = Lines(StatsText(ViewOf(report, "layer"), {}));
  CHECK(lines[0].starts_with("167 of 2,089,088 elements changed (<0.01 %), in 5 of 7 tensors"));
  CHECK(lines[1] == "sparsity: >99.99 % (1 - changed/total over the whole model)");
  CHECK(lines[2] == "delta: 1,000 bytes, 0.02 % of 4,178,176 bytes of tensors, ratio 4,178");
}

TEST_CASE("text fits 80 columns, and 120, in every part") {
  StatsReport report = FullReport();
  report.tensors.push_back(
      MadeTensor("model.layers.0.mlp.experts.17.up_proj.weight", {1 << 20, 1 << 24}, 123'456'789'012));
  report.movers[0] = report.tensors.size() - 1;
  report.exponents[0].rows.back() = {0, 123'456'789'012'345, 1'234'567'890'123};
  report.steps[0].down = 123'456'789'012;
  for (const char* by : {"tensor", "layer", "module"}) {
    StatsView view = ViewOf(report, by);
    view.gates = {MadeGate("changed(model.layers.*.self_attn.*)>0", 0, 4060, true)};
    view.changes = {{"sparsity", 0.99, 0.98, true, true}, {"nan", std::nullopt, 3.0, false, false}};
    for (const size_t width : {80U, 120U}) {
      for (const std::string& line : Lines(StatsText(view, {width, false}))) {
        CAPTURE(line);
        CHECK(DisplayWidth(line) <= width);
      }
    }
  }
  const StatsReport history = MadeRecords(200);
  for (const std::string& line : Lines(StatsText(ViewOf(history, "step"), {80, false}))) {
    CAPTURE(line);
    CHECK(DisplayWidth(line) <= 80);
  }
}

TEST_CASE("text tells every part that a report has, and none that it has not") {
  const std::string full = StatsText(ViewOf(FullReport(), "layer"), {80, false});
  for (const char* title :
       {"\nby layer\n", "\nadded tensors\n", "\nchanged files\n", "\nby exponent, BF16", "\nby steps",
        "\nrows untouched: ", "\nNaN: 3, in the base 0\n", "\nlargest movers", "\nencodings", "\nfindings\n"}) {
    CAPTURE(title);
    CHECK(Has(full, title));
  }
  CHECK(Has(full, "model.layers.0.mlp.down_proj.weight[63, 255]"));
  CHECK(Has(full, "(bound)"));
  const std::string none = StatsText(ViewOf(MadeReport({MadeTensor("w", {4, 4}, 0)}), "layer"), {80, false});
  CHECK(none == "no difference in 16 elements of 1 tensor\n");
}

TEST_CASE("--top limits the rows, and a line says how many there are more") {
  const StatsReport report = MadeModel(28);
  const std::string some = StatsText(ViewOf(report, "layer", 5), {80, false});
  CHECK(Has(some, "model.layers.3 "));
  CHECK_FALSE(Has(some, "model.layers.4 "));
  CHECK(Has(some, "  and 24 more; '--top 0' shows all\n"));
  CHECK_FALSE(Has(StatsText(ViewOf(report, "layer"), {80, false}), " more; "));
}

TEST_CASE("of a long history the newest records are shown, and figures over all deltas") {
  const std::string text = StatsText(ViewOf(MadeRecords(200), "step", 20), {80, false});
  CHECK(text.starts_with("199 deltas in 200 records (1 to 200, step 101 to 300): "));
  CHECK(Has(text, "  and 180 more before these; '--top 0' shows all\n"));
  CHECK(Has(text, "\n     200   300   1.02 %  "));
  CHECK_FALSE(Has(text, "\n     180   280 "));
  CHECK(Has(text, "over 199 deltas\n"));
  for (const char* word : {"\n  min ", "\n  mean ", "\n  max ", "\n  sum "}) CHECK(Has(text, word));
  CHECK(Has(StatsText(ViewOf(MadeRecords(3), "step"), {}), "anchor"));
}

TEST_CASE("a delta without its base says what it does not know") {
  StatsReport report = MadeModel(1);
  report.subject = StatsSubject::kDelta;
  for (TensorStats& tensor : report.tensors) tensor.tally.reset();
  CHECK(Has(StatsText(ViewOf(report, "tensor"), {}), "knows only the tensors it touches"));
}

TEST_CASE("tails of the exponents that hold hardly any weights are one row") {
  const std::string text = StatsText(ViewOf(FullReport(), "layer"), {80, false});
  CHECK(Has(text, "below 2^-10 "));
  CHECK_FALSE(Has(text, "2^-11 "));
  CHECK(Has(text, " 2^-10 "));
  CHECK(Has(text, "2 and more"));
}

TEST_CASE("gates and comparisons say PASS or FAIL in words, with and without colour") {
  const StatsReport report = MadeModel(1);
  StatsView view = ViewOf(report, "layer");
  view.gates = {MadeGate("sparsity<0.97", 0.97, 0.9699999999, true), MadeGate("nan>0", 0, 0, false)};
  view.changes = {{"sparsity", 0.99, 0.9699999999, true, true}};
  for (const bool colour : {false, true}) {
    const std::string text = StatsText(view, {80, colour});
    CHECK(Has(text, colour ? "\x1b[31mFAIL\x1b[0m    sparsity<0.97" : "  FAIL    sparsity<0.97"));
    CHECK(Has(text, colour ? "\x1b[32mPASS\x1b[0m    nan>0" : "  PASS    nan>0"));
    CHECK(Has(text, "0.9699999999"));  // not rounded to the limit that it missed
    CHECK(Has(text, " points"));
    CHECK(Has(text, "\x1b") == colour);
  }
}

TEST_CASE("a hostile name is harmless in text, and whole in a pipe") {
  StatsReport report = MadeReport({MadeTensor(kHostileName, {16, 16}, 9), MadeTensor("PASS ", {16, 16}, 9)});
  report.files = {{kHostileName, ChangeKind::kAdded, false}};
  report.findings = {"'" + kHostileName + "' is odd"};
  report.names[0] = kHostileName;
  for (const char* by : {"tensor", "layer", "module"}) {
    for (const size_t width : {0U, 80U}) {
      const std::string text = StatsText(ViewOf(report, by), {width, false});
      CHECK_FALSE(Has(text, "\x1b"));
      CHECK_FALSE(Has(text, "\r"));
      CHECK_FALSE(Has(text, "\xe2\x80\xae"));
      CHECK_FALSE(Has(text, "\xff"));
      CHECK_FALSE(Has(text, "\n| x"));
      if (width == 0) CHECK(Has(text, TerminalText(kHostileName)));
    }
  }
}

TEST_CASE("a bar is filled by eighths, and never empty for a part that is there") {
  CHECK(BlockBar(0, 10).empty());
  CHECK(BlockBar(1e-9, 10) == "▏");
  CHECK(BlockBar(0.5, 1) == "▌");
  CHECK(BlockBar(0.25, 10) == "██▌");
  CHECK(BlockBar(1, 3) == "███");
  CHECK(BlockBar(7, 3) == "███");
}

TEST_CASE("counts and shares are short, and small ones are not lost") {
  CHECK(ShortCount(9999) == "9,999");
  CHECK(ShortCount(10000) == "10.0 k");
  CHECK(ShortCount(999'499) == "999 k");
  CHECK(ShortCount(999'999) == "1.00 M");
  CHECK(ShortCount(UINT64_MAX) == "18.4 E");
}

TEST_CASE("a share has two decimals, and is never a false 0 or 100") {
  CHECK(Percent(3, 0) == "-");
  CHECK(Percent(0, 5) == "0 %");
  CHECK(Percent(5, 5) == "100 %");
  CHECK(Percent(1, 3) == "33.33 %");
  CHECK(Percent(1, 1'000'000) == "<0.01 %");
  CHECK(Percent(999'999, 1'000'000) == ">99.99 %");
  CHECK(Percent(7, 2) == "350 %");
}

TEST_CASE("with digits, a share shows so many of what is there, or of what is missing") {
  CHECK(Percent(3, 0, 3) == "-");
  CHECK(Percent(0, 5, 3) == "0 %");
  CHECK(Percent(5, 5, 3) == "100 %");
  CHECK(Percent(1, 3, 3) == "33.33 %");
  CHECK(Percent(1, 1000, 3) == "0.100 %");
  CHECK(Percent(1, 1'000'000, 3) == "0.000100 %");
  CHECK(Percent(1, 100'000'000'000, 3) == "1.00e-09 %");
  CHECK(Percent(999, 1000, 3) == "99.900 %");
  CHECK(Percent(999'999, 1'000'000, 3) == "99.999900 %");
  CHECK(Percent(99'999'999'999, 100'000'000'000, 3) == ">99.99999 %");
  CHECK(Percent(1, 1'000'000, 1) == "0.0001 %");
  CHECK(Percent(1, 50, 1) == "2.00 %");
  CHECK(Percent(7, 2, 3) == "350 %");
}

}  // namespace wdelta
