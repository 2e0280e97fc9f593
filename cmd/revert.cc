// wdelta revert: the state of an older record becomes the newest one again.
#include "command.h"
#include "numbers.h"
#include "options.h"
#include "transfer.h"
#include "ui.h"

namespace wdelta {

namespace {

JsonObject BlankFields() {
  JsonObject fields;
  SetRecord(fields, nullptr);
  fields.SetNull("wire_bytes");
  return fields;
}

Result<int> Run(const Arguments& arguments, Ui& ui) {
  RevertRequest request;
  request.remote = arguments.operands()[0];
  WD_TRY(CheckRemoteName(request.remote));
  request.to = arguments.Value("to");
  if (request.to.empty()) return Error{ErrorKind::kUsage, "which record to go back to is not said", "give '--to REV'"};
  if (arguments.Has("step")) request.step = arguments.Number("step", 0);
  request.work = arguments.Value("work");
  WD_ASSIGN(request.transfer, ChosenTransfer(arguments));
  WD_ASSIGN(const PushReport report, Revert(request, ui.MakeContext()));
  JsonObject fields;
  SetRecord(fields, &report.record);
  fields.SetNumber("wire_bytes", report.wire_bytes);
  ui.SetFields(fields);
  ui.Report(RecordName(report.record) + (report.already_there ? " has that state already: " : " goes back to state ") +
            ShortId(report.record.state) + ", " + Counted(report.wire_bytes, "byte") + " sent\n");
  ui.Essential(std::to_string(report.record.number) + '\n');
  return 0;
}

}  // namespace

const Command kRevertCommand = {
    "revert",
    "append a record with the state of an older one",
    "[OPTION]... REMOTE --to REV",
    1,
    1,
    WithTransfer({
        {"--to", "REV", "the record to go back to: 17, step:95, a tag, HEAD~3"},
        {"--step", "N", "the step of the new record (that of the old one)"},
        {"--work", "DIR", "rebuild both checkpoints in a temporary folder in DIR (the current folder)"},
    }),
    BlankFields,
    Run,
};

}  // namespace wdelta
