// wdelta diff: what changed between two checkpoints?
#include <algorithm>

#include "command.h"
#include "numbers.h"
#include "options.h"
#include "shared_options.h"
#include "table.h"
#include "ui.h"

namespace wdelta {

namespace {

constexpr uint64_t kDefaultTop = 20;
constexpr size_t kBarWidth = 10;

JsonObject Fields(const DiffReport& report) {
  JsonObject fields = {{"different", report.different()}};
  SetTotals(fields, &report.totals);
  SetDeltaSize(fields, &report.totals, report.delta_bytes);
  SetIdentities(fields, report.base, report.result);
  fields.Append(NullFields({"tensors", "groups", "files"}));
  return fields;
}

JsonObject BlankFields() {
  return Fields({}).Blank();
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

  void PrintChanged(std::vector<TensorChange> tensors) {
    std::erase_if(tensors, [](const TensorChange& tensor) { return tensor.kind != ChangeKind::kChanged; });
    if (tensors.empty()) return;
    PrintRows("changed tensors", "tensor", {{"name", false, true}, {"dtype"}, {"shape"}}, tensors,
              [](const TensorChange& tensor) -> std::vector<std::string> {
                return {TerminalText(tensor.name), tensor.dtype, ShapeText(tensor.shape)};
              });
  }

  void PrintGroups(const std::vector<GroupRow>& groups, const std::string& by) {
    PrintRows("by " + by, "row", {{by, false, true}, {"tensors", true}, {"changed", true}, {"elements", true}}, groups,
              [](const GroupRow& group) -> std::vector<std::string> {
                return {TerminalText(group.name), Grouped(group.tensors), Grouped(group.tensors_changed),
                        Grouped(group.elements)};
              });
  }

 private:
  bool IsFull(uint64_t shown) const { return top_ != 0 && shown >= top_; }

  // Each row: what `cells` gives, and which share of its elements changed.
  template <class Row, class Cells>
  void PrintRows(const std::string& title, const std::string& owner, std::vector<Column> columns,
                 const std::vector<Row>& rows, const Cells& cells) {
    columns.insert(columns.end(), {{"changed", true}, {"share", true}, {""}});
    Table table(std::move(columns));
    size_t shown = 0;
    for (; shown < rows.size() && !IsFull(shown); ++shown) {
      const Row& row = rows[shown];
      std::vector<std::string> line = cells(row);
      line.insert(line.end(), {Grouped(row.elements_changed), Percent(row.elements_changed, row.elements),
                               ShareBar(PartOf(row.elements_changed, row.elements), kBarWidth)});
      table.AddRow(std::move(line));
    }
    ui_.Report(ui_.Title(title) + " (share: of the " + owner + "'s own elements)\n");
    ui_.Report(table.Text(ui_.TableWidth()));
    PrintMore(rows.size() - shown);
  }

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
  uint64_t top_;
};

// The first `top` rows, 0 for all.
template <class Row>
std::vector<Row> First(std::vector<Row> rows, uint64_t top) {
  if (top != 0 && rows.size() > top) rows.resize(top);
  return rows;
}

void SetLists(JsonObject& fields, const DiffReport& report, std::vector<TensorChange> tensors,
              const std::vector<GroupRow>& groups, bool grouped, uint64_t top) {
  std::erase_if(tensors, [](const TensorChange& tensor) { return tensor.kind == ChangeKind::kSame; });
  fields.Set("tensors", JsonList(First(std::move(tensors), top), JsonTensor));
  const auto group_fields = [](const GroupRow& group) -> JsonObject {
    return {{"name", group.name},
            {"tensors_total", group.tensors},
            {"tensors_changed", group.tensors_changed},
            {"elements_total", group.elements},
            {"elements_changed", group.elements_changed}};
  };
  if (grouped) fields.Set("groups", JsonList(First(groups, top), group_fields));
  fields.Set("files", JsonList(report.files, JsonFile));
}

void PrintDelta(const DiffReport& report, const std::string& path, Ui& ui) {
  ui.Report("wrote " + TerminalText(path) + ": " + Counted(*report.delta_bytes, "byte") + ", " +
            Percent(*report.delta_bytes, report.totals.bytes_total) + " of " +
            Counted(report.totals.bytes_total, "byte") + " of tensors\n");
  if (ui.verbose()) {
    ui.Report("  base state " + report.base.state + "\n  state      " + report.result.state + '\n');
  }
}

// Which records were compared: "number" is that of NEW, or of the only one; "base_number" that of BASE.
void SetRecordNumbers(JsonObject& fields, const DiffReport& report) {
  const std::optional<RecordInfo>&base = report.base_record, &newest = report.next_record ? report.next_record : base;
  fields.Set("number", newest ? JsonValue(newest->number) : JsonValue());
  fields.Set("base_number", base ? JsonValue(base->number) : JsonValue());
}

// What digests tell: the names of the tensors that differ. Only two records tell of those that one of them lacks.
void ReportByDigests(const DiffReport& report, uint64_t top, Ui& ui) {
  const bool both = report.base_record && report.next_record;
  const Totals& totals = report.totals;
  JsonObject fields = BlankFields();
  SetIdentities(fields, report.base, report.result);
  SetRecordNumbers(fields, report);
  fields.Append({{"tensors_total", totals.tensors_total}, {"tensors_changed", totals.tensors_changed}});
  if (both) {
    fields.Append({{"tensors_added", totals.tensors_added}, {"tensors_removed", totals.tensors_removed}});
  }
  const std::string first = RecordName(report.base_record ? *report.base_record : *report.next_record);
  ui.Report(
      Counted(totals.tensors_changed, "tensor") + " of " + Grouped(totals.tensors_total) +
      (both ? " changed from " + first + " to " + RecordName(*report.next_record) : " differ from " + first) +
      (report.layout_differs ? std::string(", but a header or a companion file ") + (both ? "did" : "does") : "") +
      '\n');
  std::vector<JsonObject> items;
  for (const ChangeKind kind : {ChangeKind::kAdded, ChangeKind::kRemoved, ChangeKind::kChanged}) {
    uint64_t count = 0;
    for (const TensorChange& tensor : report.tensors) {
      if (tensor.kind != kind) continue;
      items.push_back({{"name", tensor.name}, {"change", ChangeName(kind)}});
      if (++count == 1 && both) ui.Report(ui.Title(std::string(ChangeName(kind)) + " tensors") + '\n');
      if (top != 0 && count > top) continue;
      const std::string name = TerminalText(tensor.name);
      ui.Report("  " +
                (kind == ChangeKind::kAdded     ? ui.Added(name)
                 : kind == ChangeKind::kRemoved ? ui.Removed(name)
                                                : name) +
                '\n');
    }
    if (top != 0 && count > top) ui.Report("  ... '--top 0' shows all\n");
  }
  fields.Set("tensors", items);
  fields.Set("different", report.different());
  ui.SetFields(fields);
}

void ReportByCounts(const DiffReport& report, const Arguments& arguments, Ui& ui) {
  const std::string by = arguments.Has("by") ? arguments.Value("by") : "tensor";
  const bool grouped = by != "tensor";
  std::vector<TensorChange> tensors = report.tensors;
  SortRows(tensors, arguments.Value("sort"));
  std::vector<GroupRow> groups = grouped ? Group(report.tensors, ParseGroupBy(by)) : std::vector<GroupRow>{};
  SortRows(groups, arguments.Value("sort"));
  JsonObject fields = Fields(report);
  SetLists(fields, report, tensors, groups, grouped, arguments.Number("top", 0));
  if (report.base_record || report.next_record) {
    SetRecordNumbers(fields, report);
    fields.Set("wire_bytes", report.wire_bytes);
  }
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
  if (report.delta_bytes) PrintDelta(report, arguments.Value("output"), ui);
}

Result<int> Run(const Arguments& arguments, Ui& ui) {
  DiffRequest request;
  request.base = arguments.operands()[0];
  request.next = arguments.operands()[1];
  const bool with_record = IsRemoteName(request.base) || IsRemoteName(request.next);
  const char* const counting[] = {"counts", "output", "by", "sort"};
  request.by_digests = with_record && std::none_of(std::begin(counting), std::end(counting),
                                                   [&](const char* option) { return arguments.Has(option); });
  request.output = arguments.Value("output");
  request.files = ChosenFiles(arguments);
  request.work = arguments.Value("work");
  for (const auto& [side, role] : {std::pair(request.base, "BASE"), std::pair(request.next, "NEW")}) {
    if (IsRemoteName(side)) continue;
    WD_TRY(CheckCheckpointName(side, request.by_digests ? "the other side of a record" : role));
  }
  if (!request.output.empty()) WD_TRY(CheckName(request.output));
  if (request.output == "-") WD_TRY(ui.ReserveStandardOutput("-o FILE"));
  WD_ASSIGN(request.transfer, ChosenTransfer(arguments));
  WD_ASSIGN(const DiffReport report, Diff(request, ui.MakeContext()));
  if (request.by_digests) {
    ReportByDigests(report, arguments.Number("top", kDefaultTop), ui);
  } else {
    ReportByCounts(report, arguments, ui);
  }
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
