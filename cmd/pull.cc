// wdelta pull: a folder follows a history.
#include "command.h"
#include "numbers.h"
#include "options.h"
#include "shared_options.h"
#include "ui.h"

namespace wdelta {

namespace {

JsonObject Fields(const PullReport& report) {
  JsonObject fields = JsonRecord(report.record);
  fields.Append(
      {{"path", JsonValue::Known(report.path)},
       {"previous", report.previous},
       {"up_to_date", report.up_to_date},
       {"update_exists", report.update_exists},
       {"wire_bytes", report.wire_bytes},
       {"retries", report.retries},
       {"lag_records", report.lag_records},
       {"plan", JsonList(report.plan, [](const auto& row) -> JsonObject {
          return {{"from", row.from}, {"to", row.to}, {"bytes", row.bytes}, {"missing_bytes", row.missing_bytes}};
        })}});
  return fields;
}

void PrintPlan(const PullReport& report, Ui& ui) {
  uint64_t missing = 0;
  for (const PlanStep& row : report.plan) missing += row.missing_bytes;
  ui.Report("to " + RecordName(report.record) + ": " + Counted(missing, "byte") + " to fetch\n");
  for (const PlanStep& row : report.plan) {
    ui.Report("  " + (row.from ? "from " + std::to_string(row.from) : std::string("anchor")) + " to " +
              std::to_string(row.to) + ": " + Counted(row.bytes, "byte") +
              (row.missing_bytes == row.bytes ? "" : ", " + Counted(row.missing_bytes, "byte") + " missing") + '\n');
  }
}

Result<PullRequest> RequestFrom(const Arguments& arguments, const Context& context) {
  PullRequest request;
  request.remote = arguments.operands()[0];
  request.folder = arguments.operands()[1];
  WD_TRY(CheckRemoteName(request.remote));
  WD_TRY(CheckCheckpointName(request.folder, "DIR"));
  request.in_place = arguments.Has("in-place");
  request.marker = arguments.Value("marker");
  request.keep = static_cast<unsigned>(std::min<uint64_t>(arguments.Number("keep", request.keep), 1000));
  if (request.keep == 0) return Error{ErrorKind::kUsage, "option '--keep' takes a number from 1 on, not '0'"};
  request.base = arguments.Value("base");
  if (!request.base.empty()) WD_TRY(CheckCheckpointName(request.base, "the base"));
  request.check = arguments.Has("check");
  request.plan = arguments.Has("plan") || arguments.Has("dry-run");
  request.allow_rollback = arguments.Has("allow-rollback");
  WD_ASSIGN(request.max_age, ChosenDuration(arguments, "max-age", request.max_age));
  WD_ASSIGN(request.lock_wait, ChosenDuration(arguments, "lock-wait", request.lock_wait));
  WD_ASSIGN(request.transfer, ChosenTransfer(arguments));
  if (const std::string command = arguments.Value("exec"); !command.empty()) {
    request.hook = [command, folder = request.folder, context](const PullReport& report) {
      const RecordInfo& record = report.record;
      return RunHook(command,
                     {{"WDELTA_DIR", folder},
                      {"WDELTA_PATH", report.path},
                      {"WDELTA_NUMBER", std::to_string(record.number)},
                      {"WDELTA_STEP", record.step ? std::to_string(*record.step) : ""},
                      {"WDELTA_PREVIOUS", report.previous ? std::to_string(*report.previous) : ""},
                      {"WDELTA_STATE", record.state}},
                     Fields(report).Text() + '\n', context);
    };
  }
  return request;
}

Result<int> Run(const Arguments& arguments, Ui& ui) {
  const Context context = ui.MakeContext();
  WD_ASSIGN(const PullRequest request, RequestFrom(arguments, context));
  WD_ASSIGN(const PullReport report, Pull(request, context));
  ui.SetFields(Fields(report));
  ui.SetSeconds({{"download", report.download_seconds}, {"apply", report.apply_seconds}});
  const RecordInfo& record = report.record;
  if (report.up_to_date) {
    ui.Report(TerminalText(report.path) + ": up to date, " + RecordName(record) + '\n');
  } else if (request.check) {
    ui.Report("an update exists: " + RecordName(record) + '\n');
    return 1;
  } else if (request.plan) {
    PrintPlan(report, ui);
  } else {
    ui.Report(TerminalText(report.path) + ": " + RecordName(record) + ", " + Counted(report.wire_bytes, "byte") +
              " fetched, verified, state " + ShortId(record.state) + '\n');
  }
  if (!report.path.empty()) ui.Essential(report.path + '\n');
  return 0;
}

}  // namespace

const Command kPullCommand = {
    "pull",
    "bring a folder to a record of a history, and switch to it atomically",
    "[OPTION]... REMOTE[@REV] DIR",
    {2, 2},
    WithTransfer({
        {"--in-place", "", "patch the current copy in place, and keep no other; for hosts without room for two"},
        {"--marker", "KIND", "sglang: with --in-place, maintain its .weight_sync in the copy", nullptr, {"sglang"}},
        {"--keep", "N", "keep N copies, the current one included; 2 by default", "WDELTA_KEEP"},
        {"--base", "CKPT", "start from CKPT instead of an anchor, if its state is that of a record"},
        {"--check", "", "change nothing; exit with 1 if an update exists, else with 0"},
        {"--plan", "", "change nothing; show what would be fetched"},
        {"-n,--dry-run", "", "the same as --plan"},
        {"--exec", "CMD", "run CMD by /bin/sh after the switch, with the JSON result on its standard input"},
        {"--allow-rollback", "", "accept a history that went backwards or was replaced"},
        {"--max-age", "TIME", "refuse a newest record older than TIME, e.g. 2h"},
        LockWaitRow(),
    }),
    [] { return Fields({}).Blank(); },
    Run,
};

}  // namespace wdelta
