// wdelta apply: rebuild a checkpoint from a base and one or more deltas.
#include "command.h"
#include "numbers.h"
#include "options.h"
#include "shared_options.h"
#include "ui.h"

namespace wdelta {

namespace {

JsonObject Fields(const ApplyReport& report) {
  JsonObject fields;
  SetTotals(fields, &report.totals);
  SetIdentities(fields, report.base, report.result);
  fields.Set("path", JsonValue::Known(report.path));
  fields.Set("already_applied", report.already_applied);
  return fields;
}

Result<int> Run(const Arguments& arguments, Ui& ui) {
  ApplyRequest request;
  request.base = arguments.operands()[0];
  request.deltas.assign(arguments.operands().begin() + 1, arguments.operands().end());
  request.output = arguments.Value("output");
  request.in_place = arguments.Has("in-place");
  request.durable = arguments.Value("fsync") != "off";
  if (request.in_place && !request.output.empty()) {
    return Error{ErrorKind::kUsage, "-o and --in-place exclude each other",
                 "-o makes a new checkpoint, --in-place changes the one that is there"};
  }
  if (!request.in_place && request.output.empty()) {
    return Error{ErrorKind::kUsage, "the output is not named",
                 "give '-o OUT' for a new checkpoint, or '--in-place' to change the base itself"};
  }
  WD_TRY(CheckNames(arguments.operands()));
  WD_TRY(CheckCheckpointName(request.in_place ? request.base : request.output, request.in_place ? "CKPT" : "OUT"));
  WD_TRY(CheckOneStandardInput(arguments.operands()));

  WD_ASSIGN(const ApplyReport report, Apply(request, ui.MakeContext()));
  ui.SetFields(Fields(report));
  if (report.already_applied) {
    ui.Report(TerminalText(report.path) + ": already at state " + ShortId(report.result.state) + ", nothing to do\n");
  } else {
    ui.Report(TerminalText(report.path) + ": " + TotalsText(report.totals) + "\n  verified, state " +
              StatesText(report.base, report.result) + '\n');
  }
  if (ui.verbose()) {
    if (!report.base.state.empty()) ui.Report("  base state  " + report.base.state + '\n');
    ui.Report("  state       " + report.result.state + "\n  fingerprint " + report.result.fingerprint + '\n');
  }
  ui.Essential(report.path + '\n');
  return 0;
}

}  // namespace

const Command kApplyCommand = {
    "apply",
    "rebuild a checkpoint from a base and one or more deltas",
    "[OPTION]... BASE DELTA... -o OUT\n[OPTION]... ANCHOR [DELTA]... -o OUT\n[OPTION]... --in-place CKPT DELTA...",
    {1, kAnyNumber},
    {
        {"-o,--output", "OUT", "write a new checkpoint OUT"},
        {"--in-place", "", "patch the files of CKPT in place; after a crash, the same command finishes it"},
        Choice("--fsync", "WHEN", "on (the default) or off: force the result to disk before it gets its name",
               {"on", "off"}, "WDELTA_FSYNC"),
    },
    [] { return Fields({}).Blank(); },
    Run,
};

}  // namespace wdelta
