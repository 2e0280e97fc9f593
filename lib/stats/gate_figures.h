// The figures that a gate can ask for, and of what: the whole model, the tensors that fit a pattern, or one record.
#pragma once

#include <span>

#include "stats_report.h"

namespace wdelta {

// What is measured, and what is known of it.
struct GateScope {
  Totals totals;
  std::optional<uint64_t> delta_bytes;
  std::optional<GroupRow> tallied = {};  // of all tensors together, if both sides were read
  double largest_change = 0;
};
GateScope ScopeOfModel(const StatsReport& report);
GateScope ScopeOfTensors(const StatsReport& report, const std::string& pattern);

struct GateFigure {
  std::string_view name;
  std::optional<double> (*measure)(const GateScope& scope);  // absent: not known of this
  bool of_tensors;                                           // also of the tensors that fit a pattern
  bool of_records;                                           // also of one record
};
std::span<const GateFigure> AllGateFigures();
const GateFigure* FindGateFigure(std::string_view name);  // null if there is none

}  // namespace wdelta
