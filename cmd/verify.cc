// wdelta verify: is this checkpoint, pack, delta, pulled folder or history whole and what it claims to be?
#include "command.h"
#include "numbers.h"
#include "options.h"
#include "shared_options.h"
#include "text_file.h"
#include "ui.h"

namespace wdelta {

namespace {

JsonObject JsonTarget(const std::string& target, const Result<VerifyReport>& result) {
  const VerifyReport report = result.ok() ? *result : VerifyReport{};
  JsonObject figures = {{"kind", JsonValue::Known(report.kind)},
                        {"state", JsonValue::Known(report.identity.state)},
                        {"fingerprint", JsonValue::Known(report.identity.fingerprint)},
                        {"tensors_total", report.tensors_total},
                        {"bytes_total", report.bytes_total}};
  JsonObject object = {{"target", target}, {"ok", result.ok()}};
  object.Append(result.ok() ? figures : figures.Blank());
  object.Set("error", result.ok() ? JsonValue() : JsonError(result.error()));
  return object;
}

void PrintTarget(const std::string& target, const Result<VerifyReport>& result, bool quick, Ui& ui) {
  if (!result.ok()) {
    ui.PrintError(result.error());
    ui.Report(TerminalText(target) + ": " + ui.Removed("failed") + '\n');
    return;
  }
  ui.Report(TerminalText(target) + ": " + ui.Added("ok") + ", " + result->kind + ", " +
            Counted(result->tensors_total, "tensor") + ", " + Counted(result->bytes_total, "byte") +
            (quick ? ", structure only" : "") +
            (result->identity.state.empty()
                 ? ""
                 : ", state " + (ui.verbose() ? result->identity.state : ShortId(result->identity.state))) +
            '\n');
}

// A remote: every record, every object, and the checkpoint of the newest.
Result<VerifyReport> VerifyHistory(const std::string& target, bool quick, const TransferOptions& transfer, Ui& ui) {
  WD_ASSIGN(const VerifyRemoteReport proved, VerifyRemote({target, quick, transfer}, ui.MakeContext()));
  ui.Report(TerminalText(target) + ": " + Counted(proved.records, "record") + ", " + Counted(proved.objects, "object") +
            " of " + Counted(proved.bytes, "byte") +
            (proved.collected ? ", objects of " + Counted(proved.collected, "record") + " collected" : "") + "; " +
            RecordName(proved.head) + (quick ? " is within reach\n" : " rebuilt\n"));
  return VerifyReport{"history",
                      {proved.head.fingerprint, "", proved.head.state},
                      proved.head.totals.tensors_total,
                      proved.head.totals.bytes_total};
}

// A checkpoint that should be in the state of a record.
Result<VerifyReport> VerifyAgainstRecord(const VerifyRequest& request, const TransferOptions& transfer, Ui& ui) {
  WD_TRY(CheckCheckpointName(request.target, "what is compared with a record"));
  const DiffRequest diff{.base = request.against,
                         .next = request.target,
                         .by_digests = true,
                         .transfer = transfer,
                         .files = request.files};
  WD_ASSIGN(const DiffReport compared, Diff(diff, ui.MakeContext()));
  const RecordInfo& record = *compared.base_record;
  const uint64_t total = compared.totals.tensors_total;
  if (!compared.different()) return VerifyReport{"checkpoint", compared.result, total, record.totals.bytes_total};
  const std::string first = compared.tensors.empty() ? "" : compared.tensors[0].name;
  Error error{ErrorKind::kIntegrity,
              "'" + request.target + "' is not " + RecordName(record) + ": " +
                  (compared.layout_differs ? "a header or a companion file differs"
                                           : Counted(compared.tensors.size(), "tensor") + " of " + Grouped(total) +
                                                 " differ, first '" + first + "'")};
  error.path = request.target;
  error.expected = record.state;
  error.found = compared.result.state;
  error.tensor = first;
  return error;
}

Result<int> Run(const Arguments& arguments, Ui& ui) {
  VerifyRequest request;
  request.against = arguments.Value("against");
  request.quick = arguments.Has("quick");
  request.files = ChosenFiles(arguments);
  WD_ASSIGN(const TransferOptions transfer, ChosenTransfer(arguments));
  std::vector<std::string> inputs;
  for (const std::string& target : arguments.operands()) {
    if (!IsRemoteName(target)) inputs.push_back(target);
  }
  const bool against_record = IsRemoteName(request.against);
  if (!request.against.empty() && !against_record) inputs.push_back(request.against);
  WD_TRY(CheckNames(inputs));
  WD_TRY(CheckOneStandardInput(inputs));
  if (request.against == "-" && arguments.operands().size() > 1) {
    return Error{ErrorKind::kUsage, "--against '-' can be read only once, and there are several targets"};
  }

  std::vector<JsonObject> targets;
  std::vector<TestCase> test_cases;
  std::optional<Error> first_failure;
  for (const std::string& target : arguments.operands()) {
    request.target = target;
    const Result<VerifyReport> result = IsRemoteName(target) ? VerifyHistory(target, request.quick, transfer, ui)
                                        : against_record     ? VerifyAgainstRecord(request, transfer, ui)
                                                             : Verify(request, ui.MakeContext());
    PrintTarget(target, result, request.quick, ui);
    targets.push_back(JsonTarget(target, result));
    test_cases.push_back({target, result.ok() ? std::nullopt : std::optional(result.error())});
    if (result.ok()) continue;
    if (!first_failure) first_failure = result.error();
    if (result.error().kind == ErrorKind::kInterrupted) break;
  }
  ui.SetFields({{"targets", targets}});
  if (arguments.Has("junit")) WD_TRY(WriteTextFile(arguments.Value("junit"), JunitText("wdelta verify", test_cases)));
  if (first_failure) return *first_failure;
  return 0;
}

}  // namespace

const Command kVerifyCommand = {
    "verify",
    "verify checkpoints, packs, deltas and histories",
    "[OPTION]... TARGET...",
    {1, kAnyNumber},
    WithTransfer(WithFileChoice({
        {"--against", "X",
         "also compare a checkpoint with its pack, another checkpoint or REMOTE@REV, or a delta with its base"},
        {"--quick", "", "check only the structure, and read no tensor data"},
        {"--junit", "FILE", "write a JUnit report to FILE, one test case for each target"},
    })),
    [] { return NullFields({"targets"}); },
    Run,
};

}  // namespace wdelta
