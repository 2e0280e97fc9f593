#include "diff_digests.h"

#include <functional>

#include "core/try.h"
#include "numbers.h"
#include "shared_options.h"

namespace wdelta {

namespace {

// Names of tensors that have something in common.
struct NameList {
  const char* change;  // as in JSON
  const char* title;   // over the list; null: none
  std::function<std::string(const std::string&)> colour;
  std::vector<std::string> names;
};

void SetTensors(JsonObject& fields, const std::vector<NameList>& lists) {
  std::vector<std::string> items;
  for (const NameList& list : lists) {
    for (const std::string& name : list.names) {
      JsonObject item;
      item.SetText("name", name);
      item.SetText("change", list.change);
      items.push_back(item.Text());
    }
  }
  fields.SetJson("tensors", JsonArray(items));
}

void Print(const std::vector<NameList>& lists, uint64_t top, Ui& ui) {
  for (const NameList& list : lists) {
    if (list.title && !list.names.empty()) ui.Report(ui.Title(list.title) + '\n');
    for (size_t i = 0; i < list.names.size() && (top == 0 || i < top); ++i) {
      ui.Report("  " + list.colour(TerminalText(list.names[i])) + '\n');
    }
    if (top != 0 && list.names.size() > top) ui.Report("  ... '--top 0' shows all\n");
  }
}

std::string Plain(const std::string& text) {
  return text;
}

// True: they are the same.
Result<bool> DiffWithCheckpoint(const Arguments& arguments, const TransferOptions& transfer, JsonObject& fields,
                                uint64_t top, Ui& ui) {
  const std::string &base = arguments.operands()[0], &next = arguments.operands()[1];
  const bool record_is_base = IsRemoteName(base);
  CompareRequest request;
  request.remote = record_is_base ? base : next;
  request.checkpoint = record_is_base ? next : base;
  WD_TRY(CheckCheckpointName(request.checkpoint, "the other side of a record"));
  request.files = ChosenFiles(arguments);
  request.transfer = transfer;
  WD_ASSIGN(const CompareReport report, CompareWithRecord(request, ui.MakeContext()));
  fields.SetText(record_is_base ? "base_state" : "state", report.record.state);
  fields.SetText(record_is_base ? "state" : "base_state", report.identity.state);
  fields.SetText(record_is_base ? "base_fingerprint" : "fingerprint", report.record.fingerprint);
  fields.SetText(record_is_base ? "fingerprint" : "base_fingerprint", report.identity.fingerprint);
  SetRecordNumbers(fields, record_is_base ? std::optional(report.record) : std::nullopt,
                   record_is_base ? std::nullopt : std::optional(report.record));
  fields.SetNumber("tensors_total", report.tensors_total);
  fields.SetNumber("tensors_changed", report.differing.size());
  const std::vector<NameList> lists = {{"changed", nullptr, Plain, report.differing}};
  SetTensors(fields, lists);
  ui.Report(Counted(report.differing.size(), "tensor") + " of " + Grouped(report.tensors_total) + " differ from " +
            RecordName(report.record) +
            (report.same || !report.differing.empty() ? "" : ", but a header or a companion file does") + '\n');
  Print(lists, top, ui);
  return report.same;
}

Result<bool> DiffTwoRecords(const Arguments& arguments, const TransferOptions& transfer, JsonObject& fields,
                            uint64_t top, Ui& ui) {
  CompareRecordsRequest request{arguments.operands()[0], arguments.operands()[1], transfer};
  WD_ASSIGN(const CompareRecordsReport report, CompareRecords(request, ui.MakeContext()));
  fields.SetText("base_state", report.base.state);
  fields.SetText("state", report.next.state);
  fields.SetText("base_fingerprint", report.base.fingerprint);
  fields.SetText("fingerprint", report.next.fingerprint);
  SetRecordNumbers(fields, report.base, report.next);
  fields.SetNumber("tensors_total", report.tensors_total);
  fields.SetNumber("tensors_changed", report.changed.size());
  fields.SetNumber("tensors_added", report.added.size());
  fields.SetNumber("tensors_removed", report.removed.size());
  const std::vector<NameList> lists = {
      {"added", "added tensors", [&](const std::string& text) { return ui.Added(text); }, report.added},
      {"removed", "removed tensors", [&](const std::string& text) { return ui.Removed(text); }, report.removed},
      {"changed", "changed tensors", Plain, report.changed}};
  SetTensors(fields, lists);
  const bool same_tensors = report.changed.empty() && report.added.empty() && report.removed.empty();
  ui.Report(Counted(report.changed.size(), "tensor") + " of " + Grouped(report.tensors_total) + " changed from " +
            RecordName(report.base) + " to " + RecordName(report.next) +
            (report.same || !same_tensors ? "" : ", but a header or a companion file did") + '\n');
  Print(lists, top, ui);
  return report.same;
}

}  // namespace

void SetRecordNumbers(JsonObject& fields, const std::optional<RecordInfo>& base,
                      const std::optional<RecordInfo>& next) {
  const std::optional<RecordInfo>& newest = next ? next : base;
  fields.SetKnownNumber("number", newest ? std::optional(newest->number) : std::nullopt);
  fields.SetKnownNumber("base_number", base ? std::optional(base->number) : std::nullopt);
}

Result<int> DiffByDigests(const Arguments& arguments, JsonObject fields, uint64_t default_top, Ui& ui) {
  WD_ASSIGN(const TransferOptions transfer, ChosenTransfer(arguments));
  const bool both = IsRemoteName(arguments.operands()[0]) && IsRemoteName(arguments.operands()[1]);
  const uint64_t top = arguments.Number("top", default_top);
  WD_ASSIGN(const bool same, both ? DiffTwoRecords(arguments, transfer, fields, top, ui)
                                  : DiffWithCheckpoint(arguments, transfer, fields, top, ui));
  fields.SetFlag("different", !same);
  ui.SetFields(fields);
  return !same && (arguments.Has("exit-code") || ui.quiet()) ? 1 : 0;
}

}  // namespace wdelta
