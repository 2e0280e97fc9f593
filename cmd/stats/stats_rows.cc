// The rows of `stats` for machines: CSV for spreadsheets and data frames, JSON Lines for everything else. Both have
// the same columns, in the words of all JSON reports.
#include <charconv>
#include <cmath>
#include <variant>

#include "stats/stats_view.h"
#include "stats/stats_words.h"

namespace wdelta {

namespace {

struct Null {};
struct Json {
  std::string text;  // a number or a list
};
using Value = std::variant<Null, std::string, Json>;  // a string is text, mostly from files
using Row = std::vector<std::pair<const char*, Value>>;

Value Number(uint64_t number) {
  return Json{std::to_string(number)};
}
Value Known(const std::optional<uint64_t>& number) {
  return number ? Number(*number) : Null{};
}
Value KnownText(const std::string& text) {
  return text.empty() ? Value(Null{}) : text;
}
// As many digits as it takes to read the same number again; JSON has no word for NaN.
Value Real(double number) {
  if (!std::isfinite(number)) return Null{};
  char text[32];
  return Json{std::string(text, std::to_chars(text, text + sizeof text, number).ptr)};
}
Value Sparsity(uint64_t changed, uint64_t total) {
  return total == 0 ? Value(Null{}) : Real(1 - PartOf(changed, total));
}
Value Shape(const std::string& dtype, const std::vector<uint64_t>& shape) {
  return dtype.empty() ? Value(Null{}) : Json{JsonShape(shape)};
}

void AddTensor(Row& row, const TensorStats& tensor) {
  row.emplace_back("change", std::string(ChangeName(tensor.kind)));
  row.emplace_back("dtype", KnownText(tensor.dtype));
  row.emplace_back("shape", Shape(tensor.dtype, tensor.shape));
  row.emplace_back("old_dtype", KnownText(tensor.old_dtype));
  row.emplace_back("old_shape", Shape(tensor.old_dtype, tensor.old_shape));
  row.emplace_back("shard", KnownText(tensor.shard));
  row.emplace_back("bytes_total", Number(tensor.bytes));
  const bool has_tally = tensor.tally.has_value();
  row.emplace_back("largest_change", has_tally ? Real(tensor.tally->largest_change) : Null{});
  row.emplace_back("largest_before", has_tally ? Real(tensor.tally->largest_before) : Null{});
  row.emplace_back("largest_after", has_tally ? Real(tensor.tally->largest_after) : Null{});
  row.emplace_back("largest_at", has_tally ? Number(tensor.tally->largest_at) : Null{});
}

Row GroupColumns(const GroupRow& group, bool has_tallies) {
  const auto tallied = [&](uint64_t number) { return has_tallies ? Number(number) : Null{}; };
  return {{"name", group.name},
          {"tensors_total", Number(group.tensors)},
          {"tensors_changed", Number(group.tensors_changed)},
          {"elements_total", Number(group.elements)},
          {"elements_changed", Number(group.elements_changed)},
          {"sparsity", Sparsity(group.elements_changed, group.elements)},
          {"rows_total", tallied(group.rows_total)},
          {"rows_untouched", tallied(group.rows_total - group.rows_touched)},
          {"experts_total", tallied(group.experts_total)},
          {"experts_untouched", tallied(group.experts_total - group.experts_touched)},
          {"nan", tallied(group.nan)},
          {"inf", tallied(group.inf)}};
}

Row RecordColumns(const StatsRecord& record) {
  const RecordInfo& info = record.info;
  const Totals& totals = info.totals;
  const bool has_ratio = info.delta_bytes.value_or(0) > 0;
  std::string tags;
  for (const std::string& tag : info.tags) tags += (tags.empty() ? "" : " ") + tag;
  return {{"name", record.name},
          {"number", info.number == 0 ? Null{} : Number(info.number)},
          {"step", Known(info.step)},
          {"created", info.created == 0 ? Null{} : Number(info.created)},
          {"elements_total", Number(totals.elements_total)},
          {"elements_changed", Number(totals.elements_changed)},
          {"sparsity", Sparsity(totals.elements_changed, totals.elements_total)},
          {"bytes_total", Number(totals.bytes_total)},
          {"delta_bytes", Known(info.delta_bytes)},
          {"ratio", has_ratio ? Real(PartOf(totals.bytes_total, *info.delta_bytes)) : Null{}},
          {"anchor_bytes", Known(info.anchor_bytes)},
          {"state", KnownText(info.state)},
          {"fingerprint", KnownText(info.fingerprint)},
          {"tags", KnownText(tags)}};
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
    const TensorStats* tensor = is_tensor ? tensors.at(group.name) : nullptr;
    Row row = GroupColumns(group, tensor ? tensor->tally.has_value() : view.report.has_tallies());
    if (tensor) AddTensor(row, *tensor);
    take(row);
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

std::string CsvCell(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return CsvText(*text);
  if (const auto* json = std::get_if<Json>(&value)) {
    return json->text.find(',') == std::string::npos ? json->text : '"' + json->text + '"';
  }
  return "";
}

}  // namespace

std::string StatsCsv(const StatsView& view) {
  const auto line = [](const Row& row, const auto& cell_of) {
    std::string text;
    for (const auto& column : row) text += (&column == row.data() ? "" : ",") + cell_of(column);
    return text + "\r\n";  // RFC 4180
  };
  const auto title = [](const auto& column) { return std::string(column.first); };
  // The titles are there without any rows too.
  Row titles = view.by == "step" ? RecordColumns({}) : GroupColumns({}, false);
  if (view.by == "tensor") AddTensor(titles, {});
  std::string text = line(titles, title);
  EachRow(view, [&](const Row& row) { text += line(row, [](const auto& column) { return CsvCell(column.second); }); });
  return text;
}

std::vector<std::string> StatsJsonRows(const StatsView& view) {
  std::vector<std::string> objects;
  EachRow(view, [&](const Row& row) {
    JsonObject object;
    for (const auto& [key, value] : row) {
      if (const auto* known = std::get_if<std::string>(&value)) {
        object.SetText(key, *known);
      } else if (const auto* json = std::get_if<Json>(&value)) {
        object.SetJson(key, json->text);
      } else {
        object.SetNull(key);
      }
    }
    objects.push_back(object.Text());
  });
  return objects;
}

std::string StatsJsonLines(const StatsView& view) {
  std::string text;
  for (const std::string& object : StatsJsonRows(view)) text += object + '\n';
  return text;
}

}  // namespace wdelta
