// wdelta cat: look into a checkpoint, a pack or a plain delta.
#include "command.h"
#include "names.h"
#include "numbers.h"
#include "options.h"
#include "table.h"
#include "ui.h"

namespace wdelta {

namespace {

JsonObject Fields(const CatReport* report) {
  JsonObject fields;
  fields.SetKnownText("kind", report ? report->kind : "");
  fields.SetKnownNumber("bytes", report ? std::optional(report->bytes) : std::nullopt);
  fields.SetNull("tensor");
  fields.SetNull("path");
  SetTotals(fields, report ? &report->totals : nullptr);
  SetIdentities(fields, report ? &report->base : nullptr, report ? &report->result : nullptr);
  for (const char* list : {"tensors", "files"}) fields.SetNull(list);
  return fields;
}

JsonObject BlankFields() {
  return Fields(nullptr);
}

JsonObject IndexFields(const CatReport& report) {
  JsonObject fields = Fields(&report);
  if (!report.is_delta) {  // a checkpoint was compared with nothing
    for (const char* figure : {"elements_changed", "sparsity", "bytes_changed", "tensors_changed", "tensors_added",
                               "tensors_removed", "files_changed"}) {
      fields.SetNull(figure);
    }
  }
  std::vector<std::string> items;
  for (const TensorChange& tensor : report.tensors) items.push_back(JsonTensor(tensor));
  fields.SetJson("tensors", JsonArray(items));
  items.clear();
  for (const FileChange& file : report.files) items.push_back(JsonFile(file));
  fields.SetJson("files", JsonArray(items));
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
    JsonObject fields;  // the index was not asked for
    fields.SetKnownText("kind", report.kind);
    fields.SetText("tensor", request.tensor);
    fields.SetNumber("bytes", report.bytes);
    if (request.output != "-") fields.SetText("path", request.output);
    ui.SetFields(fields);
    ui.Report(TerminalText(request.output) + ": " + Counted(report.bytes, "byte") + " of '" +
              TerminalText(request.tensor) + "'\n");
    ui.Essential(request.output + '\n');
    return 0;
  }
  ui.SetFields(IndexFields(report));
  PrintIndex(report, request.subject, ui);
  for (const TensorChange& tensor : report.tensors) ui.Essential(TerminalText(tensor.name) + '\n');
  return 0;
}

}  // namespace

const Command kCatCommand = {
    "cat",
    "show the content of a checkpoint, pack or delta, or of one tensor",
    "[OPTION]... FILE [TENSOR]",
    1,
    2,
    {
        {"-o,--output", "FILE", "write the tensor's bytes to FILE instead of standard output"},
    },
    BlankFields,
    Run,
};

}  // namespace wdelta
