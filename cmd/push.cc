// wdelta push: the next record of a history.
#include "command.h"
#include "numbers.h"
#include "options.h"
#include "shared_options.h"
#include "ui.h"

namespace wdelta {

namespace {

JsonObject Fields(const PushReport& report) {
  JsonObject fields = JsonRecord(report.record);
  fields.Append({{"base_state", JsonValue::Known(report.base_state)},
                 {"base_fingerprint", JsonValue::Known(report.base_fingerprint)},
                 {"already_there", report.already_there},
                 {"wire_bytes", report.wire_bytes},
                 {"retries", report.retries},
                 {"new_anchor_bytes", report.new_anchor_bytes}});
  return fields;
}

Result<PushRequest> RequestFrom(const Arguments& arguments) {
  PushRequest request;
  request.source = arguments.operands()[0];
  request.remote = arguments.operands()[1];
  WD_TRY(CheckName(request.source));
  WD_TRY(CheckRemoteName(request.remote));
  if (arguments.Has("step")) request.step = arguments.Number("step", 0);
  request.tag = arguments.Value("tag");
  request.base = arguments.Value("base");
  request.mirror = arguments.Value("mirror");
  for (const std::string& path : {request.base, request.mirror}) {
    if (!path.empty()) WD_TRY(CheckCheckpointName(path, "the base"));
  }
  const std::string keep_base = arguments.Value("keep-base");
  request.keep_base = keep_base == "copy" ? KeepBase::kCopy : keep_base == "off" ? KeepBase::kOff : KeepBase::kLink;
  request.anchor = arguments.Has("anchor");
  request.rebase = arguments.Has("rebase");
  request.single_writer = arguments.Has("single-writer");
  request.anchor_every = arguments.Number("anchor-every", 0);
  request.ready = arguments.Value("ready");
  request.released = arguments.Value("released");
  request.level = ChosenLevel(arguments);
  if (arguments.Has("format")) request.format = arguments.Value("format");
  request.encoding = arguments.Value("encoding");
  request.checksum = arguments.Value("checksum");
  request.run = arguments.Value("run");
  for (const char* option : {"encoding", "checksum", "run"}) {
    if (arguments.Has(option) && request.format != "canonical") {
      return Error{ErrorKind::kUsage, std::string("'--") + option + "' goes with '--format canonical'"};
    }
  }
  if (arguments.Has("level") && request.format == "canonical") {
    return Error{ErrorKind::kUsage,
                 "'--level' does not go with '--format canonical', whose frames others have to read"};
  }
  request.files = ChosenFiles(arguments);
  WD_ASSIGN(request.lock_wait, ChosenDuration(arguments, "lock-wait", request.lock_wait));
  WD_ASSIGN(request.transfer, ChosenTransfer(arguments));
  return request;
}

Result<int> Run(const Arguments& arguments, Ui& ui) {
  WD_ASSIGN(const PushRequest request, RequestFrom(arguments));
  WD_ASSIGN(const PushReport report, Push(request, ui.MakeContext()));
  ui.SetFields(Fields(report));
  ui.SetSeconds(
      {{"encode", report.pack_seconds}, {"upload", report.upload_seconds}, {"commit", report.commit_seconds}});
  const RecordInfo& record = report.record;
  if (report.already_there) {
    ui.Report(RecordName(record) + " has this state already: " + ShortId(record.state) + ", nothing to do\n");
  } else {
    ui.Report(RecordName(record) + ": " + Counted(report.wire_bytes, "byte") + " sent, " +
              Percent(record.totals.elements_changed, record.totals.elements_total) +
              " of the elements changed, state " + ShortId(record.state) + '\n');
  }
  if (report.new_anchor_bytes) ui.Report("  anchor added, " + Counted(*report.new_anchor_bytes, "byte") + '\n');
  if (ui.verbose()) ui.Report("  state " + record.state + "\n  fingerprint " + record.fingerprint + '\n');
  ui.Essential(std::to_string(record.number) + '\n');
  return 0;
}

}  // namespace

const Command kPushCommand = {
    "push",
    "publish a checkpoint or a pack as the next record of a history",
    "[OPTION]... SOURCE REMOTE",
    {2, 2},
    WithTransfer(WithFileChoice({
        {"--step", "N", "the trainer's label for this record"},
        {"--tag", "NAME", "also give the record a name, which protects it from gc"},
        {"--base", "CKPT", "compute the delta against CKPT, which has the state of the newest record"},
        {"--mirror", "DIR", "compute it against DIR, a mirror of the newest record that each push updates"},
        Choice("--keep-base", "HOW", "link (the default), copy or off: how to keep SOURCE as the base of the next push",
               {"link", "copy", "off"}, "WDELTA_KEEP_BASE"),
        {"--anchor", "", "send the whole checkpoint if there is no base"},
        {"--anchor-every", "N", "add an anchor if the last one is N records back", "WDELTA_ANCHOR_EVERY"},
        {"--rebase", "", "if the history has newer records, compute the delta against the newest"},
        {"--single-writer", "", "no other pusher writes there: do without create-if-absent"},
        {"--ready", "FILE", "wait until FILE exists before reading SOURCE"},
        {"--released", "FILE", "create FILE as soon as SOURCE may be overwritten"},
        LevelRow(),
        Choice("--format", "FORM", "wdp, or canonical: versions for SGLang and Stitch", {"wdp", "canonical"}),
        Choice("--encoding", "HOW", "canonical: xor or overwrite", {"xor", "overwrite"}),
        Choice("--checksum", "KIND", "canonical: xxh3-128 or adler32", {"xxh3-128", "adler32"}),
        {"--run", "NAME", "canonical: name of the run (the last part of REMOTE)"},
        LockWaitRow(),
    })),
    [] { return Fields({}).Blank(); },
    Run,
};

}  // namespace wdelta
