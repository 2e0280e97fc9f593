// wdelta log: the records of a history.
#include <ctime>

#include "command.h"
#include "numbers.h"
#include "options.h"
#include "table.h"
#include "transfer.h"
#include "ui.h"

namespace wdelta {

namespace {

JsonObject BlankFields() {
  JsonObject fields;
  fields.SetNull("records");
  return fields;
}

std::string TimeText(uint64_t seconds) {
  const auto time = static_cast<time_t>(seconds);
  struct tm utc;
  char text[32];
  if (!gmtime_r(&time, &utc) || strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &utc) == 0) return "?";
  return text;
}

std::string WaysText(const RecordInfo& record) {
  std::string ways = record.delta_bytes ? "delta" : "";
  if (record.anchor_bytes) ways += ways.empty() ? "anchor" : ", anchor";
  return ways;
}

std::string JoinedTags(const RecordInfo& record) {
  std::string text;
  for (const std::string& tag : record.tags) text += (text.empty() ? "" : ", ") + TerminalText(tag);
  return text;
}

Result<int> Run(const Arguments& arguments, Ui& ui) {
  LogRequest request;
  request.remote = arguments.operands()[0];
  WD_TRY(CheckRemoteName(request.remote));
  request.most = arguments.Number("number", 0);
  WD_ASSIGN(request.transfer, ChosenTransfer(arguments));
  WD_ASSIGN(const std::vector<RecordInfo> records, Log(request, ui.MakeContext()));
  std::vector<std::string> items;
  Table table({{"number", true},
               {"step", true},
               {"time (UTC)"},
               {"bytes", true},
               {"changed", true},
               {"ways"},
               {"state"},
               {"tags", false, true}});
  for (const RecordInfo& record : records) {
    JsonObject item;
    SetRecord(item, &record);
    items.push_back(item.Text());
    const std::string step = record.step ? std::to_string(*record.step) : "-";
    const std::string changed =
        record.delta_bytes ? Percent(record.totals.elements_changed, record.totals.elements_total) : "all";
    if (arguments.Has("oneline")) {
      ui.Report(std::to_string(record.number) + ' ' + ShortId(record.state) + " step " + step +
                (record.tags.empty() ? "" : " (" + JoinedTags(record) + ")") + '\n');
    } else {
      table.AddRow({Grouped(record.number), step, TimeText(record.created),
                    Grouped(record.delta_bytes.value_or(record.anchor_bytes.value_or(0))), changed, WaysText(record),
                    ShortId(record.state), JoinedTags(record)});
    }
  }
  if (!table.empty()) ui.Report(table.Text(ui.TableWidth()));
  for (const RecordInfo& record : records) ui.Essential(std::to_string(record.number) + '\n');
  JsonObject fields;
  fields.SetJson("records", JsonArray(items));
  ui.SetFields(fields);
  return 0;
}

}  // namespace

const Command kLogCommand = {
    "log",
    "list the records of a history, newest first",
    "[OPTION]... REMOTE[@REV|@A..B]",
    1,
    1,
    WithTransfer({
        {"-n,--number", "N", "list only the N newest"},
        {"--oneline", "", "print a short line for each record"},
    }),
    BlankFields,
    Run,
};

}  // namespace wdelta
