// wdelta doctor: does a store keep its promises, is a folder fit?
#include <algorithm>

#include "command.h"
#include "options.h"
#include "shared_options.h"
#include "table.h"
#include "ui.h"

namespace wdelta {

namespace {

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
  for (const Finding& finding : findings) {
    table.AddRow({finding.problem ? "!" : "ok", TerminalText(finding.name), TerminalText(finding.text)});
  }
  ui.SetFields({{"findings", JsonList(findings, [](const Finding& finding) -> JsonObject {
                   return {{"name", finding.name}, {"text", finding.text}, {"problem", finding.problem}};
                 })}});
  ui.Report(table.Text(0));
  return std::ranges::any_of(findings, &Finding::problem) ? 1 : 0;
}

}  // namespace

const Command kDoctorCommand = {
    "doctor",
    "examine a store and a folder: features, credentials, clock, space",
    "[OPTION]... REMOTE|DIR [DIR|REMOTE]",
    {1, 2},
    WithTransfer({}),
    [] { return NullFields({"findings"}); },
    Run,
};

}  // namespace wdelta
