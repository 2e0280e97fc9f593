// wdelta cat: look into a checkpoint, a pack or a plain delta.
#include "command.h"
#include "numbers.h"
#include "options.h"
#include "shared_options.h"
#include "table.h"
#include "ui.h"

namespace wdelta {

namespace {

JsonObject Fields(const CatReport& report) {
  JsonObject fields = {{"kind", JsonValue::Known(report.kind)}, {"bytes", report.bytes}, {"tensor", {}}, {"path", {}}};
  SetTotals(fields, &report.totals);
  if (!report.is_delta) {  // a checkpoint was compared with nothing
    fields.Append(NullFields({"elements_changed", "sparsity", "bytes_changed", "tensors_changed", "tensors_added",
                              "tensors_removed", "files_changed"}));
  }
  SetIdentities(fields, report.base, report.result);
  fields.Set("tensors", JsonList(report.tensors, JsonTensor));
  fields.Set("files", JsonList(report.files, JsonFile));
  return fields;
}

JsonObject BlankFields() {
  JsonObject fields = Fields({}).Blank();
  fields.Append(NullFields({"tensors", "files"}));
  return fields;
}

void PrintIndex(const CatReport& report, const std::string& subject, Ui& ui) {
  const Totals& totals = report.totals;
  ui.Report(TerminalText(subject) + ": " + report.kind + ", " + Counted(report.bytes, "byte") + ", " +
            Counted(totals.tensors_total, "tensor") + " of " + Counted(totals.bytes_total, "byte") + '\n');
  if (report.is_delta) {
    ui.Report("  changed " + Grouped(totals.elements_changed) + " of " + Counted(totals.elements_total, "element") +
              " (" + Percent(totals.elements_changed, totals.elements_total) + ")\n");
  }
  const auto identity = [&](const char* label, const std::string& hex) {
    if (!hex.empty()) ui.Report(label + hex + '\n');
  };
  identity("  base state       ", report.base.state);
  identity("  state            ", report.result.state);
  identity("  base fingerprint ", report.base.fingerprint);
  identity("  fingerprint      ", report.result.fingerprint);

  Table table({{"name", false, true}, {"dtype"}, {"shape"}, {"bytes", true}, {"", false}, {"", true}});
  for (const TensorChange& tensor : report.tensors) {
    const bool removed = tensor.dtype.empty();  // it has only an old form
    table.AddRow({TerminalText(tensor.name), removed ? tensor.old_dtype : tensor.dtype,
                  ShapeText(removed ? tensor.old_shape : tensor.shape), Grouped(tensor.bytes),
                  report.is_delta ? std::string(ChangeName(tensor.kind)) : "",
                  report.is_delta ? Grouped(tensor.elements_changed) : ""});
  }
  if (!table.empty()) ui.Report(table.Text(ui.TableWidth()));
  if (!report.files.empty()) ui.Report(ui.Title("files") + '\n');
  for (const FileChange& file : report.files) {
    ui.Report("  " + TerminalText(file.path) + (file.is_header ? (report.is_delta ? "  header" : "  weights") : "") +
              (report.is_delta ? "  " + std::string(ChangeName(file.kind)) : "") + '\n');
  }
}

Result<int> Run(const Arguments& arguments, Ui& ui) {
  CatRequest request;
  request.subject = arguments.operands()[0];
  request.output = arguments.Value("output");
  WD_TRY(CheckName(request.subject));
  if (arguments.operands().size() == 2) {
    request.tensor = arguments.operands()[1];
    if (request.output.empty()) request.output = "-";
    WD_TRY(CheckName(request.output));
    if (request.output == "-") WD_TRY(ui.ReserveStandardOutput("-o FILE"));
  } else if (!request.output.empty()) {
    return Error{ErrorKind::kUsage, "-o takes the bytes of one tensor, and none is named",
                 "the index goes to standard output: redirect it, or use '--report FILE' for JSON"};
  }

  WD_ASSIGN(const CatReport report, Cat(request, ui.MakeContext()));
  if (!request.tensor.empty()) {
    // The index was not asked for.
    ui.SetFields({{"kind", JsonValue::Known(report.kind)}, {"tensor", request.tensor}, {"bytes", report.bytes}});
    if (request.output != "-") ui.SetFields({{"path", request.output}});
    ui.Report(TerminalText(request.output) + ": " + Counted(report.bytes, "byte") + " of '" +
              TerminalText(request.tensor) + "'\n");
    ui.Essential(request.output + '\n');
    return 0;
  }
  ui.SetFields(Fields(report));
  PrintIndex(report, request.subject, ui);
  for (const TensorChange& tensor : report.tensors) ui.Essential(TerminalText(tensor.name) + '\n');
  return 0;
}

}  // namespace

const Command kCatCommand = {
    "cat",
    "show the content of a checkpoint, pack or delta, or of one tensor",
    "[OPTION]... FILE [TENSOR]",
    {1, 2},
    {
        {"-o,--output", "FILE", "write the tensor's bytes to FILE instead of standard output"},
    },
    BlankFields,
    Run,
};

}  // namespace wdelta
