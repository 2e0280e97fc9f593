// The table of all rows, which the page's script can sort. A figure stands in its cell twice: as people read it, and
// bare in data-n, by which it is sorted.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "numbers.h"
#include "stats/stats_page.h"
#include "stats/stats_page_markup.h"

namespace wdelta {

namespace {

// Enough for every tensor of most models; a browser still sorts them at once.
constexpr size_t kMostRows = 5000;

std::string NameCell(const std::string& name) {
  return "<td class=\"name\">" + NameMarkup(name) + "</td>";
}
std::string WordCell(const std::string& word) {
  return "<td>" + MarkupText(word, 40) + "</td>";
}
std::string CountCell(uint64_t number) {
  return fmt::format("<td class=\"n\" data-n=\"{}\">{}</td>", number, Grouped(number));
}
std::string ShareCell(uint64_t part, uint64_t whole) {
  if (whole == 0) return "<td class=\"n\">-</td>";
  return fmt::format("<td class=\"n\" data-n=\"{:.9g}\">{}</td>",
                     static_cast<double>(part) / static_cast<double>(whole), FineShare(part, whole));
}
std::string OptionalCell(const std::optional<uint64_t>& number) {
  return number ? CountCell(*number) : "<td class=\"n\">-</td>";
}

struct RowTable {
  std::vector<Column> columns;
  std::string rows;
  size_t shown = 0, all = 0;
};

// Columns that would be empty in every row are left out.
RowTable GroupTable(const StatsView& view) {
  const bool by_tensor = view.by == "tensor";
  bool has_rows = false, has_experts = false, has_odd = false;
  for (const GroupRow& row : view.rows) {
    has_rows |= row.rows_total > 0;
    has_experts |= row.experts_total > 0;
    has_odd |= row.nan + row.inf > 0;
  }
  std::map<std::string_view, const TensorStats*> tensor_of;
  if (by_tensor) {
    for (const TensorStats& tensor : view.report.tensors) tensor_of[tensor.name] = &tensor;
  }
  RowTable table;
  table.columns = {{by_tensor ? "Tensor" : MarkupText(view.by)}};
  if (!by_tensor) table.columns[0].title[0] = static_cast<char>(std::toupper(table.columns[0].title[0]));
  const auto column = [&](bool wanted, const char* title, bool right) {
    if (wanted) table.columns.push_back({title, right});
  };
  column(by_tensor, "What", false);
  column(by_tensor, "Type", false);
  column(by_tensor, "Shape", false);
  column(!by_tensor, "Tensors", true);
  column(!by_tensor, "Changed tensors", true);
  column(true, "Elements", true);
  column(true, "Changed", true);
  column(true, "Share", true);
  column(has_rows, "Rows untouched", true);
  column(has_experts, "Experts untouched", true);
  column(has_odd, "NaN", true);
  column(has_odd, "Inf", true);
  table.all = view.rows.size();
  table.shown = std::min(table.all, kMostRows);
  for (size_t i = 0; i < table.shown; ++i) {
    const GroupRow& row = view.rows[i];
    std::string cells = NameCell(row.name);
    if (by_tensor) {
      const auto found = tensor_of.find(row.name);
      const TensorStats* tensor = found == tensor_of.end() ? nullptr : found->second;
      cells += WordCell(tensor ? std::string(ChangeName(tensor->kind)) : "") + WordCell(tensor ? tensor->dtype : "") +
               "<td class=\"form\">" + MarkupText(tensor ? ShapeText(tensor->shape) : "", 40) + "</td>";
    } else {
      cells += CountCell(row.tensors) + CountCell(row.tensors_changed);
    }
    cells += CountCell(row.elements) + CountCell(row.elements_changed) + ShareCell(row.elements_changed, row.elements);
    if (has_rows) cells += ShareCell(row.rows_total - std::min(row.rows_touched, row.rows_total), row.rows_total);
    if (has_experts) {
      cells += ShareCell(row.experts_total - std::min(row.experts_touched, row.experts_total), row.experts_total);
    }
    if (has_odd) cells += CountCell(row.nan) + CountCell(row.inf);
    table.rows += "<tr>" + cells + "</tr>\n";
  }
  return table;
}

// Of a long history the newest records; the charts have said that they are the last.
RowTable RecordTable(const StatsReport& report) {
  const bool history = report.subject == StatsSubject::kHistory;
  RowTable table;
  table.columns = {{history ? "Record" : "Delta", history},
                   {"Step", true},
                   {"Elements", true},
                   {"Changed", true},
                   {"Share", true},
                   {"Delta bytes", true},
                   {"Anchor bytes", true}};
  table.all = report.records.size();
  table.shown = std::min(table.all, kMostRows);
  for (size_t i = table.all - table.shown; i < table.all; ++i) {
    const StatsRecord& record = report.records[i];
    const RecordInfo& info = record.info;
    const bool is_delta = info.delta_bytes.has_value();
    table.rows +=
        "<tr>" + (history ? CountCell(info.number) : NameCell(record.name)) + OptionalCell(info.step) +
        CountCell(info.totals.elements_total) +
        (is_delta ? CountCell(info.totals.elements_changed) : "<td class=\"n\">all</td>") +
        (is_delta ? ShareCell(info.totals.elements_changed, info.totals.elements_total) : "<td class=\"n\">all</td>") +
        OptionalCell(info.delta_bytes) + OptionalCell(info.anchor_bytes) + "</tr>\n";
  }
  return table;
}

}  // namespace

std::string RowSection(const StatsView& view) {
  const bool by_step = view.by == "step";
  const RowTable table = by_step ? RecordTable(view.report) : GroupTable(view);
  if (table.all == 0) return "";
  std::string note =
      by_step ? "Share: of the elements of the model." : "Share: changed elements, of the row's own elements.";
  if (table.shown < table.all) {
    note += fmt::format(" Shown are {} of {} rows; --format csv has all of them.", Grouped(table.shown),
                        Grouped(table.all));
  }
  if (table.shown > 100) note += "<span class=\"onpaper\">On paper only the first 100 rows.</span>";
  const std::string title = by_step ? "All records" : "By " + MarkupText(view.by);
  return PageSection(title, note, PageTable(title, table.columns, table.rows, true));
}

}  // namespace wdelta
