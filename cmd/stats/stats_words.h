// How the figures of `stats` are worded for people, wherever they stand: terminal, Markdown, page.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "numbers.h"
#include "stats/stats_view.h"

namespace wdelta {

// At most four characters and a unit, "2.13 M"; small numbers are exact. For columns that have no room.
std::string ShortCount(uint64_t number);
// "196.2"; how many times smaller the delta is than the tensors. "-" when it is not known.
std::string RatioText(uint64_t bytes_total, const std::optional<uint64_t>& delta_bytes);
// How many digits a share gets in Percent where shares differ by orders of magnitude, and on the page.
inline constexpr int kFineDigits = 3;
// A weight or a limit: six digits tell enough.
std::string RealText(double value);
// `value` with as many digits as it takes to tell it from `other`: 0.9699999 is not shown as the limit 0.97 that it
// missed.
std::string RealTextBeside(double value, double other);

// Whether a gate or a comparison failed.
bool HasFailed(const StatsView& view);
// The words for a verdict. They stand alone: no reader has to see a colour or a sign.
inline const char* VerdictWord(bool failed) {
  return failed ? "FAIL" : "PASS";
}
// "1 of 3 gates failed", "all 3 gates passed", and the same of comparisons; empty when there are neither.
std::string VerdictText(const StatsView& view);

// "sparsity<0.97: measured 0.951", and in which record, if there are several.
std::string GateText(const GateAnswer& answer);
// "sparsity was 0.991, is 0.951"
std::string ChangeText(const FigureChange& change);

// What became of the records of a history, or of several deltas, that have a delta. An anchor sends a whole model and
// would drown the others, so it is counted apart.
struct RecordSummary {
  uint64_t deltas = 0, anchors = 0;
  uint64_t elements_total = 0, elements_changed = 0, bytes_total = 0, delta_bytes = 0;  // summed over deltas
  // Of one delta each; null: no delta tells it.
  const StatsRecord *least_share = nullptr, *most_share = nullptr, *least_bytes = nullptr, *most_bytes = nullptr;
};
RecordSummary SummaryOf(const std::vector<StatsRecord>& records);
// "199 deltas in 200 records (1 to 200, step 101 to 300)"; empty of a report that is not about records.
std::string RecordsText(const StatsReport& report);

// The sentences that every report for people opens with: totals, sparsity with its definition, size and ratio. `digits`
// as for Percent.
std::vector<std::string> OpeningSentences(const StatsView& view, int digits = 0);

// Whether `a` comes before `b` for people: numbers inside names count as numbers, layers.2 before layers.10.
bool NaturalLess(std::string_view a, std::string_view b);

bool HasDifference(const StatsReport& report);
// "0.86 % of the elements changed", of records "on average"; or that nothing differs. `digits` as for Percent.
std::string HeadlineText(const StatsReport& report, int digits = 0);
// The subjects as they were given, "A → B", at most three of them; `marked` makes a name harmless for the form.
std::string SubjectText(const StatsReport& report, const std::function<std::string(const std::string&)>& marked);

}  // namespace wdelta
