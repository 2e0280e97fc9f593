// wdelta log: the records of a history.
#include <fmt/format.h>

#include <ctime>

#include "command.h"
#include "numbers.h"
#include "options.h"
#include "shared_options.h"
#include "table.h"
#include "ui.h"

namespace wdelta {

namespace {

std::string TimeText(uint64_t seconds) {
  const auto time = static_cast<time_t>(seconds);
  struct tm utc;
  char text[32];
  if (!gmtime_r(&time, &utc) || strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &utc) == 0) return "?";
  return text;
}

std::string PacksText(const RecordInfo& record) {
  std::string packs = record.delta_bytes ? "delta" : "";
  if (record.anchor_bytes) packs += packs.empty() ? "anchor" : ", anchor";
  return packs;
}

Result<int> Run(const Arguments& arguments, Ui& ui) {
  LogRequest request;
  request.remote = arguments.operands()[0];
  WD_TRY(CheckRemoteName(request.remote));
  request.most = arguments.Number("number", 0);
  WD_ASSIGN(request.transfer, ChosenTransfer(arguments));
  WD_ASSIGN(const std::vector<RecordInfo> records, Log(request, ui.MakeContext()));
  Table table({{"number", true},
               {"step", true},
               {"time (UTC)"},
               {"bytes", true},
               {"changed", true},
               {"packs"},
               {"state"},
               {"tags", false, true}});
  for (const RecordInfo& record : records) {
    const std::string tags = TerminalText(fmt::format("{}", fmt::join(record.tags, ", ")));
    const std::string step = record.step ? std::to_string(*record.step) : "-";
    const std::string changed =
        record.delta_bytes ? Percent(record.totals.elements_changed, record.totals.elements_total) : "all";
    if (arguments.Has("oneline")) {
      ui.Report(std::to_string(record.number) + ' ' + ShortId(record.state) + " step " + step +
                (tags.empty() ? "" : " (" + tags + ")") + '\n');
    } else {
      table.AddRow({Grouped(record.number), step, TimeText(record.created),
                    Grouped(record.delta_bytes.value_or(record.anchor_bytes.value_or(0))), changed, PacksText(record),
                    ShortId(record.state), tags});
    }
  }
  if (!table.empty()) ui.Report(table.Text(ui.TableWidth()));
  for (const RecordInfo& record : records) ui.Essential(std::to_string(record.number) + '\n');
  ui.SetFields({{"records", JsonList(records, JsonRecord)}});
  return 0;
}

}  // namespace

const Command kLogCommand = {
    "log",
    "list the records of a history, newest first",
    "[OPTION]... REMOTE[@REV|@A..B]",
    {1, 1},
    WithTransfer({
        {"-n,--number", "N", "list only the N newest"},
        {"--oneline", "", "print a short line for each record"},
    }),
    [] { return NullFields({"records"}); },
    Run,
};

}  // namespace wdelta
