// wdelta revert: the state of an older record becomes the newest one again.
#include "command.h"
#include "numbers.h"
#include "options.h"
#include "shared_options.h"
#include "ui.h"

namespace wdelta {

namespace {

JsonObject Fields(const PushReport& report) {
  JsonObject fields = JsonRecord(report.record);
  fields.Set("wire_bytes", report.wire_bytes);
  return fields;
}

Result<int> Run(const Arguments& arguments, Ui& ui) {
  RevertRequest request;
  request.remote = arguments.operands()[0];
  WD_TRY(CheckRemoteName(request.remote));
  request.to = arguments.Value("to");
  if (request.to.empty()) return Error{ErrorKind::kUsage, "no record is given", "give '--to REV'"};
  if (arguments.Has("step")) request.step = arguments.Number("step", 0);
  request.work = arguments.Value("work");
  WD_ASSIGN(request.transfer, ChosenTransfer(arguments));
  WD_ASSIGN(const PushReport report, Revert(request, ui.MakeContext()));
  ui.SetFields(Fields(report));
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
    {1, 1},
    WithTransfer({
        {"--to", "REV", "the record to go back to: 17, step:95, a tag, HEAD~3"},
        {"--step", "N", "the step of the new record (that of the old one)"},
        {"--work", "DIR", "rebuild both checkpoints in a temporary folder in DIR (the current folder)"},
    }),
    [] { return Fields({}).Blank(); },
    Run,
};

}  // namespace wdelta
