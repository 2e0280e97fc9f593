// The rows of `stats` for machines: CSV for spreadsheets and data frames, JSON Lines for everything else. Both have
// the same columns, in the words of all JSON reports.
#include <fmt/format.h>

#include "stats/stats_view.h"
#include "stats/stats_words.h"

namespace wdelta {

namespace {

JsonValue Sparsity(uint64_t changed, uint64_t total) {
  return total == 0 ? JsonValue() : JsonValue(1 - PartOf(changed, total));
}
JsonValue ValueIf(bool is_known, const JsonValue& value) {
  return is_known ? value : JsonValue();
}

JsonObject GroupColumns(const GroupRow& group, bool has_tallies) {
  return {{"name", group.name},
          {"tensors_total", group.tensors},
          {"tensors_changed", group.tensors_changed},
          {"elements_total", group.elements},
          {"elements_changed", group.elements_changed},
          {"sparsity", Sparsity(group.elements_changed, group.elements)},
          {"rows_total", ValueIf(has_tallies, group.rows_total)},
          {"rows_untouched", ValueIf(has_tallies, group.rows_total - group.rows_touched)},
          {"experts_total", ValueIf(has_tallies, group.experts_total)},
          {"experts_untouched", ValueIf(has_tallies, group.experts_total - group.experts_touched)},
          {"nan", ValueIf(has_tallies, group.nan)},
          {"inf", ValueIf(has_tallies, group.inf)}};
}

JsonObject RecordColumns(const StatsRecord& record) {
  const RecordInfo& info = record.info;
  const Totals& totals = info.totals;
  const uint64_t delta_bytes = info.delta_bytes.value_or(0);
  return {{"name", record.name},
          {"number", ValueIf(info.number != 0, info.number)},
          {"step", info.step},
          {"created", ValueIf(info.created != 0, info.created)},
          {"elements_total", totals.elements_total},
          {"elements_changed", totals.elements_changed},
          {"sparsity", Sparsity(totals.elements_changed, totals.elements_total)},
          {"bytes_total", totals.bytes_total},
          {"delta_bytes", info.delta_bytes},
          {"ratio", ValueIf(delta_bytes > 0, PartOf(totals.bytes_total, delta_bytes))},
          {"anchor_bytes", info.anchor_bytes},
          {"state", JsonValue::Known(info.state)},
          {"fingerprint", JsonValue::Known(info.fingerprint)},
          {"tags", JsonValue::Known(fmt::format("{}", fmt::join(info.tags, " ")))}};
}

JsonObject TensorColumns(const GroupRow& group, const TensorStats& tensor) {
  const TensorTally tally = tensor.tally.value_or(TensorTally{});
  JsonObject row = GroupColumns(group, tensor.tally.has_value());
  row.Append(JsonTensor(tensor));
  row.Set("elements_total", group.elements);  // none of a removed tensor, as in every group
  const JsonObject largest = {{"largest_change", tally.largest_change},
                              {"largest_before", tally.largest_before},
                              {"largest_after", tally.largest_after},
                              {"largest_at", tally.largest_at}};
  row.Append(tensor.tally ? largest : largest.Blank());
  return row;
}

// Calls `take` with each row, one at a time: a model may have a million tensors, and a row of values is large.
template <class Take>
void EachRow(const StatsView& view, const Take& take) {
  if (view.by == "step") {
    for (const StatsRecord& record : view.report.records) take(RecordColumns(record));
    return;
  }
  const bool is_tensor = view.by == "tensor";
  const TensorMap tensors = is_tensor ? TensorsByName(view.report) : TensorMap{};
  for (const GroupRow& group : view.rows) {
    take(is_tensor ? TensorColumns(group, *tensors.at(group.name)) : GroupColumns(group, view.report.has_tallies()));
  }
}

// A text that a spreadsheet would take for a formula gets an apostrophe, which makes it text again. Nothing that a
// terminal or an importer would obey stays, and no cell holds a line end: a row is a line.
std::string CsvText(const std::string& text) {
  static constexpr std::string_view kFormulas[] = {"=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"};
  std::string cell;
  for (const std::string_view start : kFormulas) {
    if (text.starts_with(start)) cell = "'";
  }
  cell += TerminalText(text);
  const bool is_plain =
      cell.find_first_of("\",;") == std::string::npos && !cell.starts_with(' ') && !cell.ends_with(' ');
  if (is_plain) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::string CsvCell(const JsonValue& value) {
  if (value.is_null()) return "";
  if (value.is_text) return CsvText(value.content);
  return value.content.find(',') == std::string::npos ? value.content : '"' + value.content + '"';
}

}  // namespace

std::string StatsCsv(const StatsView& view) {
  const auto line = [](const JsonObject& row, const auto& cell_of) {
    std::string text;
    for (const auto& column : row.fields()) text += (&column == row.fields().data() ? "" : ",") + cell_of(column);
    return text + "\r\n";  // RFC 4180
  };
  // The titles are there without any rows too.
  const JsonObject titles = view.by == "step"     ? RecordColumns({})
                            : view.by == "tensor" ? TensorColumns({}, {})
                                                  : GroupColumns({}, false);
  std::string text = line(titles, [](const auto& column) { return column.first; });
  EachRow(view,
          [&](const JsonObject& row) { text += line(row, [](const auto& column) { return CsvCell(column.second); }); });
  return text;
}

std::vector<std::string> StatsJsonRows(const StatsView& view) {
  std::vector<std::string> objects;
  EachRow(view, [&](const JsonObject& row) { objects.push_back(row.Text()); });
  return objects;
}

std::string StatsJsonLines(const StatsView& view) {
  std::string text;
  for (const std::string& object : StatsJsonRows(view)) text += object + '\n';
  return text;
}

}  // namespace wdelta
