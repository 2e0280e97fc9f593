// wdelta id: who is this checkpoint, and which record of a history?
#include "command.h"
#include "numbers.h"
#include "options.h"
#include "shared_options.h"
#include "ui.h"

namespace wdelta {

namespace {

JsonObject Fields(const IdReport& report) {
  const std::optional<RecordInfo>& record = report.record;
  return {{"state", JsonValue::Known(report.identity.state)},
          {"fingerprint", JsonValue::Known(report.identity.fingerprint)},
          {"number", record ? JsonValue(record->number) : JsonValue()},
          {"step", record ? JsonValue(record->step) : JsonValue()},
          {"same_layout", record ? JsonValue(report.same_layout) : JsonValue()},
          {"nearest", report.nearest ? JsonValue(report.nearest->number) : JsonValue()},
          {"differing", report.differing}};
}

JsonObject BlankFields() {
  return Fields({}).Blank();
}

Result<int> Run(const Arguments& arguments, Ui& ui) {
  IdRequest request;
  request.checkpoint = arguments.operands()[0];
  WD_TRY(CheckCheckpointName(request.checkpoint, "CKPT"));
  request.remote = arguments.Value("in");
  if (!request.remote.empty()) WD_TRY(CheckRemoteName(request.remote));
  request.files = ChosenFiles(arguments);
  WD_ASSIGN(request.transfer, ChosenTransfer(arguments));
  WD_ASSIGN(const IdReport report, Id(request, ui.MakeContext()));
  ui.SetFields(Fields(report));
  ui.Report("state       " + report.identity.state + "\nfingerprint " + report.identity.fingerprint + '\n');
  ui.Essential(report.identity.state + '\n');
  if (request.remote.empty()) return 0;
  if (report.record) {
    ui.Report(RecordName(*report.record) + (report.same_layout ? "" : ", but a header or a companion file differs") +
              '\n');
    return 0;
  }
  if (report.nearest) {
    ui.Report("no record; nearest is " + RecordName(*report.nearest) + ", " +
              Counted(report.differing.size(), "tensor") + (report.differing.size() == 1 ? " differs\n" : " differ\n"));
    for (size_t i = 0; i < report.differing.size() && (i < 10 || ui.verbose()); ++i) {
      ui.Report("  " + TerminalText(report.differing[i]) + '\n');
    }
    if (report.differing.size() > 10 && !ui.verbose()) ui.Report("  ...\n");
  } else {
    ui.Report("no record has these tensors\n");
  }
  return 1;
}

}  // namespace

const Command kIdCommand = {
    "id",
    "find the record of a history that a checkpoint matches",
    "[OPTION]... CKPT [--in REMOTE]",
    {1, 1},
    WithTransfer(WithFileChoice({{"--in", "REMOTE", "search this history"}})),
    BlankFields,
    Run,
};

}  // namespace wdelta
