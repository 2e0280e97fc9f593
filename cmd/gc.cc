// wdelta gc: what no record needs any more.
#include "command.h"
#include "numbers.h"
#include "options.h"
#include "transfer.h"
#include "ui.h"

namespace wdelta {

namespace {

JsonObject Fields(const GcReport* report) {
  JsonObject fields;
  const auto figure = [&](std::string_view key, uint64_t GcReport::*member) {
    fields.SetKnownNumber(key, report ? std::optional<uint64_t>(report->*member) : std::nullopt);
  };
  figure("records", &GcReport::records);
  figure("first_kept", &GcReport::first_kept);
  figure("objects_total", &GcReport::objects_total);
  figure("objects_bytes", &GcReport::bytes_total);
  figure("objects_removed", &GcReport::objects_removed);
  figure("bytes_removed", &GcReport::bytes_removed);
  figure("objects_too_young", &GcReport::objects_too_young);
  fields.SetNull("deleted");
  return fields;
}

JsonObject BlankFields() {
  return Fields(nullptr);
}

Result<int> Run(const Arguments& arguments, Ui& ui) {
  GcRequest request;
  request.remote = arguments.operands()[0];
  WD_TRY(CheckRemoteName(request.remote));
  request.keep = arguments.Number("keep", request.keep);
  if (request.keep == 0) return Error{ErrorKind::kUsage, "option '--keep' takes a number from 1 on, not '0'"};
  if (arguments.Has("keep-for")) {
    WD_ASSIGN(request.keep_for, ParseDuration(arguments.Value("keep-for"), "--keep-for"));
  }
  if (arguments.Has("grace")) {
    WD_ASSIGN(request.grace, ParseDuration(arguments.Value("grace"), "--grace"));
  }
  request.remove = arguments.Has("delete") && !arguments.Has("dry-run");
  WD_ASSIGN(request.transfer, ChosenTransfer(arguments));
  WD_ASSIGN(const GcReport report, Gc(request, ui.MakeContext()));
  JsonObject fields = Fields(&report);
  fields.SetFlag("deleted", request.remove);
  ui.SetFields(fields);
  ui.Report((request.remove ? "removed " : "would remove ") + Counted(report.objects_removed, "object") + ", " +
            Counted(report.bytes_removed, "byte") + ", of " + Counted(report.objects_total, "object") + ", " +
            Counted(report.bytes_total, "byte") + '\n');
  ui.Report("  records " + Grouped(report.first_kept) + " to " + Grouped(report.records) +
            " and all tagged ones stay within reach\n");
  if (report.objects_too_young > 0) {
    ui.Report("  " + Counted(report.objects_too_young, "object") + " younger than the grace period left alone\n");
  }
  if (!request.remove && report.objects_removed > 0) ui.Report("  '--delete' removes them\n");
  return 0;
}

}  // namespace

const Command kGcCommand = {
    "gc",
    "remove objects that no kept record needs",
    "[OPTION]... REMOTE",
    1,
    1,
    WithTransfer({
        {"--keep", "N", "keep the N newest records (50)"},
        {"--keep-for", "TIME", "also keep records younger than TIME, e.g. 7d"},
        {"--grace", "TIME", "never remove an object younger than TIME (1d)"},
        {"--delete", "", "remove the objects; without it, only count them"},
        {"-n,--dry-run", "", "change nothing, even with --delete"},
    }),
    BlankFields,
    Run,
};

}  // namespace wdelta
