// Comparing a report with one that an earlier run left behind, so that CI notices a change without a fixed limit.
#include <algorithm>
#include <cmath>

#include "core/boundary.h"
#include "core/file.h"
#include "core/json.h"
#include "stats/gate_figures.h"

namespace wdelta {

namespace {

constexpr std::string_view kSchema = "wdelta.stats/1";
constexpr uint64_t kMostBytes = uint64_t{1} << 30;

// The figures that are compared, in the words of gates. All are whole numbers in the JSON; shares are computed from
// them again.
constexpr std::string_view kCompared[] = {
    "elements_changed", "elements_total", "bytes_total",     "delta_bytes", "tensors_total",
    "tensors_changed",  "tensors_added",  "tensors_removed", "nan",         "inf"};

Result<EarlierFigures> ParseReport(std::string_view text) {
  if (!ValidUtf8(AsBytes(text))) return Error{ErrorKind::kIntegrity, "not UTF-8"};
  EarlierFigures figures;
  bool is_report = false;
  JsonReader json(text);
  WD_TRY(json.BeginObject());
  for (;;) {
    WD_ASSIGN(const std::optional<std::string_view> key, json.NextKey());
    if (!key) break;
    const std::string name(*key);
    const bool is_compared = std::find(std::begin(kCompared), std::end(kCompared), name) != std::end(kCompared);
    WD_ASSIGN(const JsonReader::Type type, json.Peek());
    if (name == "schema" && type == JsonReader::Type::kString) {
      WD_ASSIGN(const std::string_view schema, json.String());
      is_report = schema == kSchema;
    } else if (is_compared && type == JsonReader::Type::kNumber) {
      WD_ASSIGN(const uint64_t number, json.UnsignedInteger());
      figures[name] = static_cast<double>(number);
    } else {
      WD_TRY(json.Skip());
    }
  }
  WD_TRY(json.End());
  if (!is_report) return Error{ErrorKind::kIntegrity, "its schema is not '" + std::string(kSchema) + "'"};
  return figures;
}

EarlierFigures FiguresOf(const StatsReport& report) {
  const GateScope scope = ScopeOfModel(report);
  EarlierFigures figures;
  for (const std::string_view name : kCompared) {
    const GateFigure& figure = *FindGateFigure(name);
    if (!report.has_tensors() && !figure.of_records) continue;
    if (const std::optional<double> measured = figure.measure(scope)) figures.emplace(name, *measured);
  }
  return figures;
}

std::optional<double> FigureOf(const EarlierFigures& figures, std::string_view name) {
  const auto found = figures.find(name);
  return found == figures.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> ShareOf(const EarlierFigures& figures, std::string_view part, std::string_view whole) {
  const std::optional<double> numerator = FigureOf(figures, part), denominator = FigureOf(figures, whole);
  if (!numerator || denominator.value_or(0) == 0) return std::nullopt;
  return *numerator / *denominator;
}

std::optional<double> SparsityOf(const EarlierFigures& figures) {
  const std::optional<double> density = ShareOf(figures, "elements_changed", "elements_total");
  return density ? std::optional(1 - *density) : std::nullopt;
}

Result<EarlierFigures> DoReadEarlierReport(const std::string& path) {
  WD_ASSIGN(const Bytes bytes, ReadWholeFile(path, kMostBytes));
  Result<EarlierFigures> figures = ParseReport(AsText(bytes));
  if (figures.ok()) return figures;
  Error error = figures.error();
  error.message = "'" + path + "' is not a report of 'wdelta stats': " + error.message;
  error.hint = "'wdelta stats ... --report FILE' leaves one";
  error.path = path;
  return error;
}

}  // namespace

Result<EarlierFigures> ReadEarlierReport(const std::string& path) {
  return Guarded(DoReadEarlierReport, path);
}

std::vector<FigureChange> CompareWithEarlier(const StatsReport& report, const EarlierFigures& before,
                                             const std::optional<double>& tolerance) {
  const EarlierFigures now = FiguresOf(report);
  std::vector<FigureChange> changes;
  const auto compare_share = [&](const char* name, std::optional<double> old_share, std::optional<double> new_share) {
    const bool failed = tolerance && old_share && new_share && std::abs(*new_share - *old_share) > *tolerance;
    changes.push_back({name, old_share, new_share, true, failed});
  };
  compare_share("sparsity", SparsityOf(before), SparsityOf(now));
  compare_share("delta_share", ShareOf(before, "delta_bytes", "bytes_total"),
                ShareOf(now, "delta_bytes", "bytes_total"));
  for (const std::string_view name : kCompared) {
    const std::optional<double> old_number = FigureOf(before, name), new_number = FigureOf(now, name);
    const bool gated = name == "nan" || name == "inf";
    const bool failed = tolerance && gated && old_number && new_number && *new_number > *old_number;
    changes.push_back({std::string(name), old_number, new_number, false, failed});
  }
  return changes;
}

}  // namespace wdelta
