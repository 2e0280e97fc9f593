// wdelta diff: what changed between two checkpoints?
#include <algorithm>
#include <numeric>

#include "command.h"
#include "diff_digests.h"
#include "numbers.h"
#include "options.h"
#include "shared_options.h"
#include "table.h"
#include "ui.h"

namespace wdelta {

namespace {

constexpr uint64_t kDefaultTop = 20;
constexpr size_t kBarWidth = 10;

JsonObject Fields(const DiffReport* report) {
  JsonObject fields;
  if (report) {
    fields.SetFlag("different", report->different());
  } else {
    fields.SetNull("different");
  }
  SetTotals(fields, report ? &report->totals : nullptr);
  SetDeltaSize(fields, report ? &report->totals : nullptr, report ? report->delta_bytes : std::nullopt);
  SetIdentities(fields, report ? &report->base : nullptr, report ? &report->result : nullptr);
  for (const char* list : {"tensors", "groups", "files"}) fields.SetNull(list);
  return fields;
}

JsonObject BlankFields() {
  return Fields(nullptr);
}

// --sort: a name rises, figures fall; equal ones stay in the order of the report, which is by name.
template <class Row>
void SortRows(std::vector<Row>& rows, const std::string& by) {
  const auto falling = [&](auto key) {
    std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return key(a) > key(b); });
  };
  if (by == "name") {
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.name < b.name; });
  } else if (by == "share") {
    falling([](const Row& row) { return PartOf(row.elements_changed, row.elements); });
  } else if (by == "size") {
    falling([](const Row& row) { return row.elements; });
  } else {
    falling([](const Row& row) { return row.elements_changed; });
  }
}

// Prints one report, part by part.
class DiffPrinter {
 public:
  DiffPrinter(const DiffReport& report, Ui& ui, uint64_t top) : report_(report), ui_(ui), top_(top) {}

  void PrintTotals() { ui_.Report(TotalsText(report_.totals) + '\n'); }

  void PrintForms() {
    PrintKind(ChangeKind::kAdded, "added tensors", [&](const std::string& text) { return ui_.Added(text); });
    PrintKind(ChangeKind::kRemoved, "removed tensors", [&](const std::string& text) { return ui_.Removed(text); });
    PrintKind(ChangeKind::kReshaped, "reshaped tensors", [](const std::string& text) { return text; });
    PrintKind(ChangeKind::kRetyped, "retyped tensors", [](const std::string& text) { return text; });
  }

  void PrintFiles() {
    if (report_.files.empty()) return;
    ui_.Report(ui_.Title("changed files") + '\n');
    for (const FileChange& file : report_.files) {
      ui_.Report("  " + TerminalText(file.path) + "  " + (file.is_header ? "header " : "") +
                 std::string(ChangeName(file.kind)) + '\n');
    }
  }

  void PrintChanged(const std::vector<TensorChange>& tensors) {
    Table table({{"name", false, true}, {"dtype"}, {"shape"}, {"changed", true}, {"share", true}, {""}});
    uint64_t more = 0;
    for (const TensorChange& tensor : tensors) {
      if (tensor.kind != ChangeKind::kChanged) continue;
      if (IsFull(shown_)) {
        ++more;
        continue;
      }
      ++shown_;
      table.AddRow({TerminalText(tensor.name), tensor.dtype, ShapeText(tensor.shape), Grouped(tensor.elements_changed),
                    Percent(tensor.elements_changed, tensor.elements),
                    ShareBar(PartOf(tensor.elements_changed, tensor.elements), kBarWidth)});
    }
    if (table.empty() && more == 0) return;
    ui_.Report(ui_.Title("changed tensors") + " (share: of the tensor's own elements)\n");
    ui_.Report(table.Text(ui_.TableWidth()));
    PrintMore(more);
  }

  void PrintGroups(const std::vector<GroupRow>& groups, const std::string& by) {
    Table table({{by, false, true},
                 {"tensors", true},
                 {"changed", true},
                 {"elements", true},
                 {"changed", true},
                 {"share", true},
                 {""}});
    uint64_t more = 0;
    for (const GroupRow& group : groups) {
      if (IsFull(shown_)) {
        ++more;
        continue;
      }
      ++shown_;
      table.AddRow({TerminalText(group.name), Grouped(group.tensors), Grouped(group.tensors_changed),
                    Grouped(group.elements), Grouped(group.elements_changed),
                    Percent(group.elements_changed, group.elements),
                    ShareBar(PartOf(group.elements_changed, group.elements), kBarWidth)});
    }
    ui_.Report(ui_.Title("by " + by) + " (share: of the row's own elements)\n");
    ui_.Report(table.Text(ui_.TableWidth()));
    PrintMore(more);
  }

 private:
  bool IsFull(uint64_t shown) const { return top_ != 0 && shown >= top_; }

  void PrintMore(uint64_t more) {
    if (more > 0) ui_.Report("  and " + Grouped(more) + " more; '--top 0' shows all\n");
  }

  template <class Colour>
  void PrintKind(ChangeKind kind, const std::string& title, const Colour& colour) {
    uint64_t count = 0;
    for (const TensorChange& tensor : report_.tensors) {
      if (tensor.kind != kind) continue;
      if (count++ == 0) ui_.Report(ui_.Title(title) + '\n');
      if (IsFull(count - 1)) continue;
      ui_.Report("  " + colour(TerminalText(tensor.name) + "  " + FormText(tensor)) + '\n');
    }
    if (IsFull(count)) PrintMore(count - top_);
  }

  // A removed tensor has only an old form, an added one only a new one.
  static std::string FormText(const TensorChange& tensor) {
    const std::string before = tensor.old_dtype + ' ' + ShapeText(tensor.old_shape);
    const std::string after = tensor.dtype + ' ' + ShapeText(tensor.shape);
    if (!tensor.old_dtype.empty() && !tensor.dtype.empty()) return before + " -> " + after;
    return (tensor.dtype.empty() ? before : after) + "  " + Counted(tensor.elements, "element");
  }

  const DiffReport& report_;
  Ui& ui_;
  uint64_t top_, shown_ = 0;
};

void SetLists(JsonObject& fields, const DiffReport& report, const std::vector<TensorChange>& tensors,
              const std::vector<GroupRow>& groups, bool grouped, uint64_t top) {
  std::vector<std::string> items;
  for (const TensorChange& tensor : tensors) {
    if (tensor.kind == ChangeKind::kSame) continue;
    if (top != 0 && items.size() == top) break;
    items.push_back(JsonTensor(tensor).Text());
  }
  fields.SetJson("tensors", JsonArray(items));
  items.clear();
  for (const GroupRow& group : groups) {
    if (top != 0 && items.size() == top) break;
    JsonObject row;
    row.SetText("name", group.name);
    row.SetNumber("tensors_total", group.tensors);
    row.SetNumber("tensors_changed", group.tensors_changed);
    row.SetNumber("elements_total", group.elements);
    row.SetNumber("elements_changed", group.elements_changed);
    items.push_back(row.Text());
  }
  if (grouped) fields.SetJson("groups", JsonArray(items));
  items.clear();
  for (const FileChange& file : report.files) items.push_back(JsonFile(file).Text());
  fields.SetJson("files", JsonArray(items));
}

void PrintDelta(const DiffReport& report, const std::string& path, Ui& ui) {
  ui.Report("wrote " + TerminalText(path) + ": " + Counted(*report.delta_bytes, "byte") + ", " +
            Percent(*report.delta_bytes, report.totals.bytes_total) + " of " +
            Counted(report.totals.bytes_total, "byte") + " of tensors\n");
  if (ui.verbose()) {
    ui.Report("  base state " + report.base.state + "\n  state      " + report.result.state + '\n');
  }
}

// What to compare, and, if a side is a record, what it took to bring it here.
Result<DiffRecordsReport> Compare(const Arguments& arguments, const DiffRequest& request, Ui& ui) {
  DiffRecordsRequest records;
  records.diff = request;
  records.work = arguments.Value("work");
  WD_ASSIGN(records.transfer, ChosenTransfer(arguments));
  if (IsRemoteName(request.base) || IsRemoteName(request.next)) return DiffRecords(records, ui.MakeContext());
  DiffRecordsReport report;
  WD_ASSIGN(report.diff, Diff(request, ui.MakeContext()));
  return report;
}

Result<int> Run(const Arguments& arguments, Ui& ui) {
  DiffRequest request;
  request.base = arguments.operands()[0];
  request.next = arguments.operands()[1];
  const bool with_record = IsRemoteName(request.base) || IsRemoteName(request.next);
  const char* const counting[] = {"counts", "output", "by", "sort"};
  const bool counted =
      std::any_of(std::begin(counting), std::end(counting), [&](const char* option) { return arguments.Has(option); });
  if (with_record && !counted) return DiffByDigests(arguments, BlankFields(), kDefaultTop, ui);
  request.output = arguments.Value("output");
  request.files = ChosenFiles(arguments);
  if (!IsRemoteName(request.base)) WD_TRY(CheckCheckpointName(request.base, "BASE"));
  if (!IsRemoteName(request.next)) WD_TRY(CheckCheckpointName(request.next, "NEW"));
  if (!request.output.empty()) WD_TRY(CheckName(request.output));
  if (request.output == "-") WD_TRY(ui.ReserveStandardOutput("-o FILE"));

  WD_ASSIGN(const DiffRecordsReport compared, Compare(arguments, request, ui));
  const DiffReport& report = compared.diff;
  const std::string by = arguments.Has("by") ? arguments.Value("by") : "tensor";
  const bool grouped = by != "tensor";
  std::vector<TensorChange> tensors = report.tensors;
  SortRows(tensors, arguments.Value("sort"));
  std::vector<GroupRow> groups = grouped ? Group(report.tensors, ParseGroupBy(by)) : std::vector<GroupRow>{};
  SortRows(groups, arguments.Value("sort"));
  JsonObject fields = Fields(&report);
  SetLists(fields, report, tensors, groups, grouped, arguments.Number("top", 0));
  if (with_record) SetRecordNumbers(fields, compared.base, compared.next);
  if (with_record) fields.SetNumber("wire_bytes", compared.wire_bytes);
  ui.SetFields(fields);

  if (report.different()) {
    DiffPrinter printer(report, ui, arguments.Number("top", kDefaultTop));
    printer.PrintTotals();
    printer.PrintForms();
    printer.PrintFiles();
    if (grouped) {
      printer.PrintGroups(groups, by);
    } else {
      printer.PrintChanged(tensors);
    }
  } else {
    ui.Report("no difference in " + Counted(report.totals.elements_total, "element") + " of " +
              Counted(report.totals.tensors_total, "tensor") + '\n');
  }
  if (report.delta_bytes) PrintDelta(report, request.output, ui);
  return report.different() && (arguments.Has("exit-code") || ui.quiet()) ? 1 : 0;
}

}  // namespace

const Command kDiffCommand = {
    "diff",
    "show what changed between two checkpoints; write a plain delta",
    "[OPTION]... BASE NEW",
    {2, 2},
    WithTransfer(WithFileChoice({
        {"-o,--output", "FILE", "also write a plain delta to FILE, a safetensors file; '-': standard output"},
        {"--exit-code", "", "exit with 1 if there is a difference, as with -q"},
        {"--by",
         "WHAT",
         "one row for each tensor, layer, dtype or shard",
         nullptr,
         {"tensor", "layer", "dtype", "shard"}},
        {"--sort",
         "KEY",
         "order of rows: name, changed (the default), share or size",
         nullptr,
         {"name", "changed", "share", "size"}},
        {"--top", "N", "print at most N rows of a kind (20); 0: all"},
        {"--counts", "",
         "rebuild a record and count its changes, as -o, --by and --sort do; the default is to compare digests"},
        {"--work", "DIR", "rebuild records in a temporary folder in DIR (the current folder)"},
    })),
    BlankFields,
    Run,
};

}  // namespace wdelta
