// wdelta tag: a name for a record.
#include "command.h"
#include "numbers.h"
#include "options.h"
#include "shared_options.h"
#include "ui.h"

namespace wdelta {

namespace {

Result<int> Run(const Arguments& arguments, Ui& ui) {
  TagRequest request;
  request.remote = arguments.operands()[0];
  request.name = arguments.operands()[1];
  WD_TRY(CheckRemoteName(request.remote));
  request.force = arguments.Has("force");
  request.remove = arguments.Has("delete");
  WD_ASSIGN(request.transfer, ChosenTransfer(arguments));
  WD_ASSIGN(const RecordInfo record, TagRecord(request, ui.MakeContext()));
  ui.SetFields(JsonRecord(record));
  ui.Report("tag '" + TerminalText(request.name) + (request.remove ? "' removed from " : "' is ") + RecordName(record) +
            ", state " + ShortId(record.state) + '\n');
  ui.Essential(std::to_string(record.number) + '\n');
  return 0;
}

}  // namespace

const Command kTagCommand = {
    "tag",
    "give a record a name, which protects it from gc",
    "[OPTION]... REMOTE[@REV] NAME",
    {2, 2},
    WithTransfer({
        {"--force", "", "move a name from another record"},
        {"--delete", "", "remove the name"},
    }),
    [] { return JsonRecord({}).Blank(); },
    Run,
};

}  // namespace wdelta
