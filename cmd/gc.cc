// wdelta gc: what no record needs any more.
#include "command.h"
#include "numbers.h"
#include "options.h"
#include "shared_options.h"
#include "ui.h"

namespace wdelta {

namespace {

JsonObject Fields(const GcReport& report, bool deleted) {
  return {{"records", report.records},
          {"first_kept", report.first_kept},
          {"objects_total", report.objects_total},
          {"objects_bytes", report.bytes_total},
          {"objects_removed", report.objects_removed},
          {"bytes_removed", report.bytes_removed},
          {"objects_too_young", report.objects_too_young},
          {"deleted", deleted}};
}

Result<int> Run(const Arguments& arguments, Ui& ui) {
  GcRequest request;
  request.remote = arguments.operands()[0];
  WD_TRY(CheckRemoteName(request.remote));
  request.keep = arguments.Number("keep", request.keep);
  if (request.keep == 0) return Error{ErrorKind::kUsage, "option '--keep' takes a number from 1 on, not '0'"};
  WD_ASSIGN(request.keep_for, ChosenDuration(arguments, "keep-for", request.keep_for));
  WD_ASSIGN(request.grace, ChosenDuration(arguments, "grace", request.grace));
  request.remove = arguments.Has("delete") && !arguments.Has("dry-run");
  WD_ASSIGN(request.transfer, ChosenTransfer(arguments));
  WD_ASSIGN(const GcReport report, Gc(request, ui.MakeContext()));
  ui.SetFields(Fields(report, request.remove));
  ui.Report((request.remove ? "removed " : "would remove ") + Counted(report.objects_removed, "object") + ", " +
            Counted(report.bytes_removed, "byte") + ", of " + Counted(report.objects_total, "object") + ", " +
            Counted(report.bytes_total, "byte") + '\n');
  ui.Report("  records " + Grouped(report.first_kept) + " to " + Grouped(report.records) +
            " and all tagged ones are kept\n");
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
    {1, 1},
    WithTransfer({
        {"--keep", "N", "keep the N newest records (50)"},
        {"--keep-for", "TIME", "also keep records younger than TIME, e.g. 7d"},
        {"--grace", "TIME", "never remove an object younger than TIME (1d)"},
        {"--delete", "", "remove the objects; without it, only count them"},
        {"-n,--dry-run", "", "change nothing, even with --delete"},
    }),
    [] { return Fields({}, false).Blank(); },
    Run,
};

}  // namespace wdelta
