// Comparing a report with one that an earlier run left behind, so that CI notices a change without a fixed limit.
#include <cmath>

#include "core/boundary.h"
#include "core/file.h"
#include "core/json.h"
#include "stats_report.h"

namespace wdelta {

namespace {

constexpr std::string_view kSchema = "wdelta.stats/1";
constexpr uint64_t kMostBytes = uint64_t{1} << 30;

// The figures that are compared. All are whole numbers in the JSON; shares are computed from them again.
struct Row {
  std::string_view name;
  std::optional<uint64_t> EarlierFigures::*member;
};
constexpr Row kRows[] = {
    {"elements_changed", &EarlierFigures::elements_changed},
    {"elements_total", &EarlierFigures::elements_total},
    {"bytes_total", &EarlierFigures::bytes_total},
    {"delta_bytes", &EarlierFigures::delta_bytes},
    {"tensors_total", &EarlierFigures::tensors_total},
    {"tensors_changed", &EarlierFigures::tensors_changed},
    {"tensors_added", &EarlierFigures::tensors_added},
    {"tensors_removed", &EarlierFigures::tensors_removed},
    {"nan", &EarlierFigures::nan},
    {"inf", &EarlierFigures::inf},
};

Result<EarlierFigures> ParseReport(std::string_view text) {
  if (!ValidUtf8(AsBytes(text))) return Error{ErrorKind::kIntegrity, "not UTF-8"};
  EarlierFigures figures;
  bool is_report = false;
  JsonReader json(text);
  WD_TRY(json.BeginObject());
  for (;;) {
    WD_ASSIGN(const std::optional<std::string_view> key, json.NextKey());
    if (!key) break;
    const Row* row = nullptr;
    for (const Row& candidate : kRows) {
      if (candidate.name == *key) row = &candidate;
    }
    const bool is_schema = *key == "schema";
    WD_ASSIGN(const JsonReader::Type type, json.Peek());
    if (is_schema && type == JsonReader::Type::kString) {
      WD_ASSIGN(const std::string_view schema, json.String());
      is_report = schema == kSchema;
    } else if (row && type == JsonReader::Type::kNumber) {
      WD_ASSIGN(figures.*row->member, json.UnsignedInteger());
    } else {
      WD_TRY(json.Skip());
    }
  }
  WD_TRY(json.End());
  if (!is_report) return Error{ErrorKind::kIntegrity, "its schema is not '" + std::string(kSchema) + "'"};
  return figures;
}

EarlierFigures FiguresOf(const StatsReport& report) {
  const Totals& totals = report.totals;
  EarlierFigures figures;
  figures.elements_total = totals.elements_total;
  figures.elements_changed = totals.elements_changed;
  figures.bytes_total = totals.bytes_total;
  figures.delta_bytes = report.delta_bytes;
  if (report.has_tensors()) {
    figures.tensors_total = totals.tensors_total;
    figures.tensors_changed = totals.tensors_changed;
    figures.tensors_added = totals.tensors_added;
    figures.tensors_removed = totals.tensors_removed;
  }
  if (report.has_tallies()) {
    figures.nan = report.nan;
    figures.inf = report.inf;
  }
  return figures;
}

std::optional<double> ShareOf(const std::optional<uint64_t>& part, const std::optional<uint64_t>& whole) {
  if (!part || whole.value_or(0) == 0) return std::nullopt;
  return static_cast<double>(*part) / static_cast<double>(*whole);
}

std::optional<double> SparsityOf(const EarlierFigures& figures) {
  const std::optional<double> density = ShareOf(figures.elements_changed, figures.elements_total);
  return density ? std::optional(1 - *density) : std::nullopt;
}

std::optional<double> AsReal(const std::optional<uint64_t>& number) {
  return number ? std::optional(static_cast<double>(*number)) : std::nullopt;
}

Result<EarlierFigures> DoReadEarlierReport(const std::string& path) {
  WD_ASSIGN(const Bytes bytes, ReadWholeFile(path, kMostBytes));
  Result<EarlierFigures> figures = ParseReport(AsText(bytes));
  if (figures.ok()) return figures;
  Error error = figures.error();
  error.message = "'" + path + "' is no report of 'wdelta stats': " + error.message;
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
  compare_share("delta_share", ShareOf(before.delta_bytes, before.bytes_total),
                ShareOf(now.delta_bytes, now.bytes_total));
  for (const Row& row : kRows) {
    const std::optional<uint64_t>&old_number = before.*row.member, &new_number = now.*row.member;
    const bool gated = row.member == &EarlierFigures::nan || row.member == &EarlierFigures::inf;
    const bool failed = tolerance && gated && old_number && new_number && *new_number > *old_number;
    changes.push_back({std::string(row.name), AsReal(old_number), AsReal(new_number), false, failed});
  }
  return changes;
}

}  // namespace wdelta
