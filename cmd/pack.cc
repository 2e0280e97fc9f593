// wdelta pack: the shippable form of a difference, of a chain of them, or of a whole checkpoint.
#include "command.h"
#include "numbers.h"
#include "options.h"
#include "shared_options.h"
#include "ui.h"

namespace wdelta {

namespace {

JsonObject Fields(const PackReport& report, const std::string& path) {
  JsonObject fields;
  SetTotals(fields, &report.totals);
  SetDeltaSize(fields, &report.totals, report.delta_bytes);
  SetIdentities(fields, report.base, report.result);
  fields.Set("path", JsonValue::Known(path));
  fields.Set("sha256", JsonValue::Known(report.sha256));
  return fields;
}

// What the inputs are depends on --base and --anchor, and a wrong guess would read gigabytes before it failed.
Result<> CheckInputs(const PackRequest& request) {
  WD_TRY(CheckNames(request.inputs));
  if (request.anchor) {
    if (!request.base.empty()) {
      return Error{ErrorKind::kUsage, "--anchor packs a whole checkpoint, which has no --base"};
    }
    if (request.inputs.size() != 1) {
      return Error{ErrorKind::kUsage,
                   "--anchor takes one checkpoint, found " + std::to_string(request.inputs.size()) + " operands"};
    }
    return CheckCheckpointName(request.inputs[0], "the checkpoint of --anchor");
  }
  if (!request.base.empty()) {
    WD_TRY(CheckCheckpointName(request.base, "--base"));
    return CheckOneStandardInput(request.inputs);
  }
  if (request.inputs.size() == 1) {
    return Error{ErrorKind::kUsage, "one input is not enough to tell a difference",
                 "give 'BASE NEW', or '--base CKPT' with a delta, or '--anchor' to pack the whole checkpoint"};
  }
  if (request.inputs.size() > 2) {
    return Error{ErrorKind::kUsage, "several deltas need the checkpoint that they start from",
                 "name it with '--base CKPT'"};
  }
  for (const std::string& input : request.inputs) {
    if (input == "-") {
      return Error{ErrorKind::kUsage, "a checkpoint has to be a file or a folder, not '-'",
                   "a delta on standard input needs '--base CKPT'"};
    }
  }
  return {};
}

void PrintReport(const PackReport& report, const std::string& path, Ui& ui) {
  const Totals& totals = report.totals;
  ui.Report(TerminalText(path) + ": " + Counted(report.delta_bytes, "byte") + ", " +
            Percent(report.delta_bytes, totals.bytes_total) + " of " + Counted(totals.bytes_total, "byte") +
            " of tensors\n");
  ui.Report("  " + TotalsText(totals) + '\n');
  if (ui.verbose()) {
    if (!report.base.state.empty()) ui.Report("  base state " + report.base.state + '\n');
    ui.Report("  state      " + report.result.state + "\n  sha256     " + report.sha256 + '\n');
  } else {
    ui.Report("  state " + StatesText(report.base, report.result) + '\n');
  }
}

Result<int> Run(const Arguments& arguments, Ui& ui) {
  PackRequest request;
  request.inputs = arguments.operands();
  request.base = arguments.Value("base");
  request.anchor = arguments.Has("anchor");
  request.output = arguments.Value("output");
  request.level = ChosenLevel(arguments);
  request.codec = arguments.Value("codec");
  request.check = !arguments.Has("no-check");
  request.files = ChosenFiles(arguments);
  if (arguments.Has("format")) request.format = arguments.Value("format");
  request.encoding = arguments.Value("encoding");
  request.checksum = arguments.Value("checksum");
  request.version = arguments.Value("version-name");
  request.base_version = arguments.Value("base-version-name");
  if (request.output.empty()) {
    return Error{ErrorKind::kUsage, "the output is not named", "give '-o FILE', or '-o -' for a pipe"};
  }
  WD_TRY(CheckName(request.output));
  WD_TRY(CheckInputs(request));
  const bool to_pipe = request.output == "-";
  if (to_pipe) WD_TRY(ui.ReserveStandardOutput("-o FILE"));

  WD_ASSIGN(const PackReport report, Pack(request, ui.MakeContext()));
  ui.SetFields(Fields(report, to_pipe ? "" : request.output));
  PrintReport(report, request.output, ui);
  ui.Essential(request.output + '\n');
  return 0;
}

}  // namespace

const Command kPackCommand = {
    "pack",
    "make a pack of a difference, of deltas, or of a whole checkpoint",
    "[OPTION]... -o FILE BASE NEW\n[OPTION]... -o FILE --base CKPT DELTA...\n[OPTION]... -o FILE --anchor CKPT",
    {1, kAnyNumber},
    WithFileChoice({
        {"-o,--output", "FILE", "write the pack to FILE, or a folder of that name; '-': standard output"},
        {"--base", "CKPT", "the inputs are deltas, the first with the base CKPT; several are squashed into one"},
        {"--anchor", "", "pack the whole checkpoint, which then needs no base"},
        LevelRow(),
        {"--codec", "NAME", "code every block by this codec"},
        Choice("--format", "FORM", "wdp, plain, or for other systems canonical, trl or skyrl",
               {"wdp", "plain", "canonical", "trl", "skyrl"}),
        Choice("--encoding", "HOW", "canonical: xor or overwrite; trl: indices (its first version) or raw (later ones)",
               {"xor", "overwrite", "indices", "raw"}),
        Choice("--checksum", "KIND", "canonical: xxh3-128 or adler32", {"xxh3-128", "adler32"}),
        {"--version-name", "NAME", "canonical, trl and skyrl: name of the result"},
        {"--base-version-name", "NAME", "canonical, trl and skyrl: name of the base"},
        {"--no-check", "", "do not decode each block again to compare it"},
    }),
    [] { return Fields({}, "").Blank(); },
    Run,
};

}  // namespace wdelta
