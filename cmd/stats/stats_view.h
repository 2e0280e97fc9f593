// One report of `stats`, in the forms in which people and machines want it. Each form has a file of its own and makes
// the whole text; names that come from files are made harmless for that form there.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "json_fields.h"
#include "wdelta.h"

namespace wdelta {

// What all forms are made from.
struct StatsView {
  const StatsReport& report;
  std::string by;              // "tensor", "layer", "module", "dtype" or "step"; "step": the rows are report.records
  std::vector<GroupRow> rows;  // in the order in which they are shown; empty for "step"
  uint64_t top = 0;            // for people: at most so many rows; 0: all
  std::vector<GateAnswer> gates;
  std::vector<FigureChange> changes;  // against an earlier report
};

// The tensors of a report by name: a row by tensor has only the name of its own.
using TensorMap = std::unordered_map<std::string_view, const TensorStats*>;
inline TensorMap TensorsByName(const StatsReport& report) {
  TensorMap tensors;
  for (const TensorStats& tensor : report.tensors) tensors.emplace(tensor.name, &tensor);
  return tensors;
}

// How text for a terminal looks.
struct TextStyle {
  size_t width = 0;  // columns; 0: not a terminal, names stay whole and lines may be long
  bool colour = false;
};

std::string StatsText(const StatsView& view, const TextStyle& style);  // stats_text.cc: --format human
std::string StatsMarkdown(const StatsView& view);                      // stats_markdown.cc
std::string StatsCsv(const StatsView& view);                           // stats_rows.cc: the rows alone
std::string StatsJsonLines(const StatsView& view);                     // stats_rows.cc: the rows alone, one object each
std::vector<std::string> StatsJsonRows(const StatsView& view);         // stats_rows.cc: those objects
JsonObject StatsFields(const StatsView& view);                         // stats_json.cc
JsonObject BlankStatsFields();                                         // stats_json.cc: the same fields, all null
std::string StatsHtml(const StatsView& view);                          // stats_page.cc: one page that loads nothing
std::string HeatMapSvg(const StatsReport& report);                     // heat_map_picture.cc: layers by modules

}  // namespace wdelta
