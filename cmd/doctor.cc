// wdelta doctor: does a store keep its promises, is a folder fit?
#include <algorithm>

#include "command.h"
#include "options.h"
#include "table.h"
#include "transfer.h"
#include "ui.h"

namespace wdelta {

namespace {

JsonObject BlankFields() {
  JsonObject fields;
  fields.SetNull("findings");
  return fields;
}

Result<int> Run(const Arguments& arguments, Ui& ui) {
  DoctorRequest request;
  for (const std::string& operand : arguments.operands()) {
    std::string& place = IsRemoteName(operand) ? request.remote : request.folder;
    if (!place.empty()) return Error{ErrorKind::kUsage, "doctor looks at one remote and one folder at a time"};
    place = operand;
  }
  WD_ASSIGN(request.transfer, ChosenTransfer(arguments));
  WD_ASSIGN(const std::vector<Finding> findings, Doctor(request, ui.MakeContext()));
  Table table({{""}, {"what"}, {"finding"}});
  std::vector<std::string> items;
  bool problem = false;
  for (const Finding& finding : findings) {
    problem = problem || finding.problem;
    table.AddRow({finding.problem ? "!" : "ok", TerminalText(finding.name), TerminalText(finding.text)});
    JsonObject item;
    item.SetText("name", finding.name);
    item.SetText("text", finding.text);
    item.SetFlag("problem", finding.problem);
    items.push_back(item.Text());
  }
  JsonObject fields;
  fields.SetJson("findings", JsonArray(items));
  ui.SetFields(fields);
  ui.Report(table.Text(0));
  return problem ? 1 : 0;
}

}  // namespace

const Command kDoctorCommand = {
    "doctor",
    "examine a store and a folder: features, credentials, clock, space",
    "[OPTION]... REMOTE|DIR [DIR|REMOTE]",
    1,
    2,
    WithTransfer({}),
    BlankFields,
    Run,
};

}  // namespace wdelta
