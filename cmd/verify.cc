// wdelta verify: is this checkpoint, pack or plain delta whole and what it claims to be?
#include <optional>

#include "command.h"
#include "file_choice.h"
#include "junit.h"
#include "names.h"
#include "numbers.h"
#include "options.h"
#include "text_file.h"
#include "ui.h"

namespace wdelta {

namespace {

JsonObject BlankFields() {
  JsonObject fields;
  fields.SetNull("targets");
  return fields;
}

std::string JsonTarget(const std::string& target, const Result<VerifyReport>& result) {
  const VerifyReport* report = result.ok() ? &*result : nullptr;
  JsonObject object;
  object.SetText("target", target);
  object.SetFlag("ok", result.ok());
  object.SetKnownText("kind", report ? report->kind : "");
  object.SetKnownText("state", report ? report->identity.state : "");
  object.SetKnownText("fingerprint", report ? report->identity.fingerprint : "");
  object.SetKnownNumber("tensors_total", report ? std::optional(report->tensors_total) : std::nullopt);
  object.SetKnownNumber("bytes_total", report ? std::optional(report->bytes_total) : std::nullopt);
  if (report) {
    object.SetNull("error");
  } else {
    const Error& error = result.error();
    object.SetJson("error", JsonError(error, ErrorKindName(error.kind), IsRetryable(error.kind)));
  }
  return object.Text();
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

Result<int> Run(const Arguments& arguments, Ui& ui) {
  VerifyRequest request;
  request.against = arguments.Value("against");
  request.quick = arguments.Has("quick");
  request.files = ChosenFiles(arguments);
  std::vector<std::string> inputs = arguments.operands();
  if (!request.against.empty()) inputs.push_back(request.against);
  WD_TRY(CheckNames(inputs));
  WD_TRY(CheckOneStandardInput(inputs));
  if (request.against == "-" && arguments.operands().size() > 1) {
    return Error{ErrorKind::kUsage, "--against '-' can be read only once, and there are several targets"};
  }

  std::vector<std::string> targets;
  std::vector<TestCase> test_cases;
  std::optional<Error> first_failure;
  for (const std::string& target : arguments.operands()) {
    request.target = target;
    const Result<VerifyReport> result = Verify(request, ui.MakeContext());
    PrintTarget(target, result, request.quick, ui);
    targets.push_back(JsonTarget(target, result));
    test_cases.push_back({target, result.ok() ? std::nullopt : std::optional(result.error())});
    if (result.ok()) continue;
    if (!first_failure) first_failure = result.error();
    if (result.error().kind == ErrorKind::kInterrupted) break;
  }
  JsonObject fields;
  fields.SetJson("targets", JsonArray(targets));
  ui.SetFields(fields);
  if (arguments.Has("junit")) WD_TRY(WriteTextFile(arguments.Value("junit"), JunitText("wdelta verify", test_cases)));
  if (first_failure) return *first_failure;
  return 0;
}

}  // namespace

const Command kVerifyCommand = {
    "verify",
    "prove that checkpoints, packs and deltas are whole",
    "[OPTION]... TARGET...",
    1,
    kAnyNumber,
    WithFileChoice({
        {"--against", "X", "also compare: a checkpoint with its pack or another checkpoint, a delta with its base"},
        {"--quick", "", "structure only: read no tensor data"},
        {"--junit", "FILE", "write a JUnit report to FILE, one test case for each target"},
    }),
    BlankFields,
    Run,
};

}  // namespace wdelta
