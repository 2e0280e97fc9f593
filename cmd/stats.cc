// wdelta stats: how sparse is an update, where do its changes sit, what does it cost, is it within limits?
#include <algorithm>

#include "command.h"
#include "numbers.h"
#include "options.h"
#include "shared_options.h"
#include "stats/stats_view.h"
#include "stats/stats_words.h"
#include "text_file.h"
#include "ui.h"

namespace wdelta {

namespace {

constexpr uint64_t kDefaultTop = 20;

// What changed most comes first; layers stand as they do in the model.
std::vector<GroupRow> RowsOf(const StatsReport& report, const std::string& by) {
  std::vector<GroupRow> rows = Group(report.tensors, ParseGroupBy(by));
  if (by == "layer") std::ranges::stable_sort(rows, NaturalLess, &GroupRow::name);
  if (by == "tensor" || by == "dtype") std::ranges::stable_sort(rows, std::greater{}, &GroupRow::elements_changed);
  return rows;
}

// "0.5%" or "0.005".
Result<double> ParseTolerance(const std::string& text) {
  if (const std::optional<double> share = ParseQuantity(text, {{"", 1}, {"%", 0.01}})) return *share;
  return Error{ErrorKind::kUsage, "'" + text + "' is not a tolerance", "for example '--tolerance 0.5%'"};
}

// The report, in the form that was asked for.
std::string Rendered(const StatsView& view, const std::string& format, const TextStyle& style) {
  if (format == "md") return StatsMarkdown(view);
  if (format == "csv") return StatsCsv(view);
  if (format == "jsonl") return StatsJsonLines(view);
  if (format == "html") return StatsHtml(view);
  if (format == "svg") return HeatMapSvg(view.report);
  return StatsText(view, style);
}

// One test case for each gate and each figure that was compared; the report itself if there are none.
std::string JunitOf(const StatsView& view) {
  std::vector<TestCase> test_cases;
  const auto add = [&](const std::string& name, bool failed, const std::string& text) {
    test_cases.push_back({name, failed ? std::optional(Error{ErrorKind::kConflict, text}) : std::nullopt});
  };
  for (const GateAnswer& answer : view.gates) add(answer.gate.text, answer.failed, GateText(answer));
  for (const FigureChange& change : view.changes) add("unchanged " + change.name, change.failed, ChangeText(change));
  if (test_cases.empty()) test_cases.push_back({"report", std::nullopt});
  return JunitText("wdelta stats", test_cases);
}

// Says on standard error which gates failed, and returns the answer.
int Judge(const StatsView& view, Ui& ui) {
  for (const GateAnswer& answer : view.gates) {
    if (answer.failed) ui.PrintError({ErrorKind::kConflict, "gate failed: " + GateText(answer)});
  }
  for (const FigureChange& change : view.changes) {
    if (change.failed) ui.PrintError({ErrorKind::kConflict, "changed more than tolerated: " + ChangeText(change)});
  }
  return HasFailed(view) ? 1 : 0;
}

Result<StatsRequest> ReadRequest(const Arguments& arguments) {
  StatsRequest request;
  request.subjects = arguments.operands();
  request.base = arguments.Value("base");
  request.encodings = arguments.Has("compare-encodings");
  request.files = ChosenFiles(arguments);
  WD_ASSIGN(request.transfer, ChosenTransfer(arguments));
  for (const std::string& subject : request.subjects) {
    if (!IsRemoteName(subject)) WD_TRY(CheckName(subject));
  }
  WD_TRY(CheckOneStandardInput(request.subjects));
  if (!request.base.empty()) WD_TRY(CheckCheckpointName(request.base, "--base"));
  return request;
}

Result<int> Run(const Arguments& arguments, Ui& ui) {
  WD_ASSIGN(StatsRequest request, ReadRequest(arguments));
  const std::string format = arguments.Has("format") ? arguments.Value("format") : "human";
  const std::string output = arguments.Value("output");
  const bool to_file = !output.empty() && output != "-";
  if (!output.empty()) WD_TRY(CheckName(output));
  if (format == "json" && to_file && arguments.Has("report")) {
    return Error{ErrorKind::kUsage, "'--format json -o FILE' and '--report FILE' are the same", "give one of them"};
  }
  if (ui.json() && format != "human" && format != "json" && !to_file) {
    return Error{ErrorKind::kUsage, "--json and --format " + format + " both want standard output", "use '-o FILE'"};
  }
  std::vector<Gate> gates;
  for (const std::string& text : arguments.Values("fail-if")) {
    WD_ASSIGN(Gate gate, ParseGate(text));
    request.delta_size |= NeedsDeltaSize(gate);
    gates.push_back(std::move(gate));
  }
  std::optional<double> tolerance;
  if (arguments.Has("tolerance")) {
    WD_ASSIGN(tolerance, ParseTolerance(arguments.Value("tolerance")));
    if (!arguments.Has("compare")) {
      return Error{ErrorKind::kUsage, "--tolerance goes with --compare", "'--compare last.json' names the report"};
    }
  }
  EarlierFigures earlier;
  if (arguments.Has("compare")) {
    WD_ASSIGN(earlier, ReadEarlierReport(arguments.Value("compare")));
  }

  WD_ASSIGN(const StatsReport report, Stats(request, ui.MakeContext()));
  StatsView view{report, arguments.Value("by"), {}, arguments.Number("top", format == "human" ? kDefaultTop : 0), {},
                 {}};
  if (view.by.empty()) view.by = report.has_tensors() ? "layer" : "step";
  if ((view.by == "step") == report.has_tensors()) {
    return Error{ErrorKind::kUsage,
                 report.has_tensors() ? "'--by step' is for histories and for several deltas"
                                      : "records do not tell tensors apart: only '--by step' works here",
                 "'wdelta help stats' shows what goes together"};
  }
  if (report.has_tensors()) view.rows = RowsOf(report, view.by);
  for (const Gate& gate : gates) {
    WD_ASSIGN(GateAnswer answer, CheckGate(gate, report));
    view.gates.push_back(std::move(answer));
  }
  if (arguments.Has("compare")) view.changes = CompareWithEarlier(report, earlier, tolerance);

  ui.SetFields(StatsFields(view));
  if (format != "json") {
    const std::string text = Rendered(view, format, {to_file ? 0 : ui.TableWidth(), ui.colour() && !to_file});
    if (to_file) {
      WD_TRY(WriteTextFile(output, text));
      ui.Report("wrote " + TerminalText(output) + '\n');
    } else if (format == "human") {
      ui.Report(text);
    } else {
      ui.PrintAlways(text);
    }
  }
  if (gates.empty() && view.changes.empty() && format == "human") {
    ui.Essential(RealText(report.totals.sparsity()) + '\n');
  }
  if (arguments.Has("junit")) WD_TRY(WriteTextFile(arguments.Value("junit"), JunitOf(view)));
  return Judge(view, ui);
}

}  // namespace

const Command kStatsCommand = {
    "stats",
    "report how sparse updates are; check them against limits",
    "[OPTION]... BASE NEW\n[OPTION]... [--base CKPT] DELTA...\n[OPTION]... REMOTE[@REV|@A..B]",
    {1, kAnyNumber},
    WithTransfer(WithFileChoice({
        {"--base", "CKPT", "the checkpoint that a delta was made from: it can then be read in full"},
        Choice("--by", "WHAT", "one row for each tensor, layer (the default), module or dtype; of records: step",
               {"tensor", "layer", "module", "dtype", "step"}),
        {"--top", "N", "for people: at most N rows of a kind, 20 unless given; 0: all"},
        Choice("--format", "FORM", "human, json, jsonl, md, csv, html or svg",
               {"human", "json", "jsonl", "md", "csv", "html", "svg"}),
        {"-o,--output", "FILE", "write the report to FILE"},
        {"--compare-encodings", "", "also show the size of the delta at every level, and as others would send it"},
        {"--fail-if",
         "EXPR",
         "exit with 1 if this is true: 'sparsity<0.97', 'changed(*.embed_tokens.*)>0'",
         nullptr,
         {},
         true},
        {"--compare", "FILE", "also show what changed against an earlier report, as '--json' or '--report' wrote it"},
        {"--tolerance", "P", "exit with 1 if a share differs from the earlier report by more than P, such as 0.5%"},
        {"--junit", "FILE", "write a JUnit report to FILE, one test case for each gate and each figure compared"},
    })),
    BlankStatsFields,
    Run,
};

}  // namespace wdelta
