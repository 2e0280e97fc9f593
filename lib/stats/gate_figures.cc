#include "stats/gate_figures.h"

#include <algorithm>

#include "core/path.h"

namespace wdelta {

namespace {

double LargestChange(const std::vector<TensorStats>& tensors) {
  double largest = 0;
  for (const TensorStats& tensor : tensors) {
    if (tensor.tally) largest = std::max(largest, tensor.tally->largest_change);
  }
  return largest;
}

}  // namespace

GateScope ScopeOfModel(const StatsReport& report) {
  GateScope scope{report.totals, report.delta_bytes};
  if (report.has_tallies()) scope.tallied = report.whole;
  scope.largest_change = LargestChange(report.tensors);
  return scope;
}

GateScope ScopeOfTensors(const StatsReport& report, const std::string& pattern) {
  std::vector<TensorStats> fitting;
  for (const TensorStats& tensor : report.tensors) {
    if (GlobMatch(pattern, tensor.name)) fitting.push_back(tensor);
  }
  if (fitting.empty()) return {};
  GateScope scope;
  if (report.has_tallies()) scope.tallied = Group(fitting, GroupBy::kWhole)[0];
  scope.largest_change = LargestChange(fitting);
  Totals& totals = scope.totals;
  for (const TensorStats& tensor : fitting) {
    totals.tensors_removed += tensor.kind == ChangeKind::kRemoved;
    if (tensor.kind == ChangeKind::kRemoved) continue;
    totals.tensors_total += 1;
    totals.elements_total += tensor.elements;
    totals.elements_changed += tensor.elements_changed;
    totals.bytes_total += tensor.bytes;
    totals.tensors_added += tensor.kind == ChangeKind::kAdded;
    totals.tensors_changed += tensor.kind != ChangeKind::kAdded && tensor.kind != ChangeKind::kSame;
  }
  return scope;
}

namespace {

template <uint64_t Totals::*kMember>
std::optional<double> TotalOf(const GateScope& scope) {
  return static_cast<double>(scope.totals.*kMember);
}
template <uint64_t GroupRow::*kMember>
std::optional<double> TalliedOf(const GateScope& scope) {
  if (!scope.tallied) return std::nullopt;
  return static_cast<double>(*scope.tallied.*kMember);
}
template <uint64_t GroupRow::*kTotal, uint64_t GroupRow::*kTouched>
std::optional<double> UntouchedOf(const GateScope& scope) {
  if (!scope.tallied) return std::nullopt;
  return static_cast<double>(*scope.tallied.*kTotal - *scope.tallied.*kTouched);
}

const GateFigure kFigures[] = {
    {"sparsity", [](const GateScope& scope) -> std::optional<double> { return scope.totals.sparsity(); }, true, true},
    {"density", [](const GateScope& scope) -> std::optional<double> { return 1 - scope.totals.sparsity(); }, true,
     true},
    {"changed", TotalOf<&Totals::elements_changed>, true, true},
    {"elements_changed", TotalOf<&Totals::elements_changed>, true, true},
    {"elements_total", TotalOf<&Totals::elements_total>, true, true},
    {"bytes_total", TotalOf<&Totals::bytes_total>, true, true},
    {"bytes_changed", TotalOf<&Totals::bytes_changed>, false, false},
    {"tensors_total", TotalOf<&Totals::tensors_total>, true, false},
    {"tensors_changed", TotalOf<&Totals::tensors_changed>, true, false},
    {"tensors_added", TotalOf<&Totals::tensors_added>, true, false},
    {"tensors_removed", TotalOf<&Totals::tensors_removed>, true, false},
    {"files_changed", TotalOf<&Totals::files_changed>, false, false},
    {"delta_bytes",
     [](const GateScope& scope) -> std::optional<double> {
       if (!scope.delta_bytes) return std::nullopt;
       return static_cast<double>(*scope.delta_bytes);
     },
     false, true},
    {"ratio",
     [](const GateScope& scope) -> std::optional<double> {
       if (scope.delta_bytes.value_or(0) == 0) return std::nullopt;
       return static_cast<double>(scope.totals.bytes_total) / static_cast<double>(*scope.delta_bytes);
     },
     false, true},
    {"nan", TalliedOf<&GroupRow::nan>, true, false},
    {"inf", TalliedOf<&GroupRow::inf>, true, false},
    {"largest_change",
     [](const GateScope& scope) -> std::optional<double> {
       if (!scope.tallied) return std::nullopt;
       return scope.largest_change;
     },
     true, false},
    {"rows_untouched", UntouchedOf<&GroupRow::rows_total, &GroupRow::rows_touched>, true, false},
    {"experts_untouched", UntouchedOf<&GroupRow::experts_total, &GroupRow::experts_touched>, true, false},
};

}  // namespace

std::span<const GateFigure> AllGateFigures() {
  return kFigures;
}

const GateFigure* FindGateFigure(std::string_view name) {
  const auto found = std::find_if(std::begin(kFigures), std::end(kFigures),
                                  [&](const GateFigure& figure) { return figure.name == name; });
  return found == std::end(kFigures) ? nullptr : found;
}

}  // namespace wdelta
