#include "stats/findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

namespace wdelta {

namespace {

double Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}
// Of one tensor, or of the whole model of a record.
double ShareOf(const TensorStats& tensor) {
  return Share(tensor.elements_changed, tensor.elements);
}
double ShareOf(const Totals& totals) {
  return Share(totals.elements_changed, totals.elements_total);
}

std::string Percent(double share) {
  return share < 0.0001 && share > 0 ? "less than 0.01 %" : fmt::format("{:.3g} %", 100 * share);
}

std::string Quoted(const std::string& name) {
  return "'" + Shorten(name) + "'";
}

using Sentences = std::vector<std::string>;

void FindNotNumbers(const StatsReport& report, Sentences& out) {
  const auto look = [&](const char* what, uint64_t now, uint64_t before, uint64_t TensorTally::*member,
                        uint64_t TensorTally::*base_member) {
    if (now == 0) return;
    if (now <= before) {
      out.push_back(fmt::format("{} elements are {}, as {} were in the base", now, what, before));
      return;
    }
    const auto worse = std::find_if(report.tensors.begin(), report.tensors.end(), [&](const TensorStats& tensor) {
      return tensor.tally && *tensor.tally.*member > *tensor.tally.*base_member;
    });
    out.push_back(fmt::format("{} elements are {}, where the base had {}; the first tensor with more is {}", now, what,
                              before, worse == report.tensors.end() ? "?" : Quoted(worse->name)));
  };
  look("NaN", report.nan, report.base_nan, &TensorTally::nan, &TensorTally::base_nan);
  look("infinite", report.inf, report.base_inf, &TensorTally::inf, &TensorTally::base_inf);
}

void FindForms(const StatsReport& report, Sentences& out) {
  const Totals& totals = report.totals;
  const auto reshaped = std::ranges::count(report.tensors, ChangeKind::kReshaped, &TensorStats::kind);
  const auto retyped = std::ranges::count(report.tensors, ChangeKind::kRetyped, &TensorStats::kind);
  if (totals.tensors_added + totals.tensors_removed == 0 && reshaped + retyped == 0) return;
  out.push_back(fmt::format("tensors differ in form: {} added, {} removed, {} reshaped, {} retyped",
                            totals.tensors_added, totals.tensors_removed, reshaped, retyped));
}

// One optimizer step of reinforcement learning changes about one weight in a hundred.
void FindDensity(const StatsReport& report, Sentences& out) {
  const Totals& totals = report.totals;
  const double density = ShareOf(totals);
  if (totals.elements_total > 0 && totals.elements_changed == 0) {
    out.emplace_back("no element changed");
  } else if (density > 0.1) {
    out.push_back(
        fmt::format("{} of the elements changed, far more than one step of fine-tuning usually does: is the "
                    "base the step before?",
                    Percent(density)));
  }
  const TensorStats* densest = nullptr;
  for (const TensorStats& tensor : report.tensors) {
    if (tensor.kind != ChangeKind::kChanged || tensor.elements < 1024) continue;
    if (ShareOf(tensor) < std::max(0.2, 10 * density)) continue;
    if (!densest || ShareOf(tensor) > ShareOf(*densest)) densest = &tensor;
  }
  if (!densest) return;
  out.push_back(fmt::format("{} changed in {} of its elements, the model in {}", Quoted(densest->name),
                            Percent(ShareOf(*densest)), Percent(density)));
}

void FindUntouched(const StatsReport& report, Sentences& out) {
  const TensorStats* largest = nullptr;
  uint64_t untouched = 0;
  for (const TensorStats& tensor : report.tensors) {
    if (tensor.kind != ChangeKind::kSame || tensor.elements == 0) continue;
    ++untouched;
    if (!largest || tensor.elements > largest->elements) largest = &tensor;
  }
  if (largest && report.totals.elements_changed > 0) {
    out.push_back(fmt::format("{} of {} tensors did not change at all, the largest of them {}", untouched,
                              report.totals.tensors_total, Quoted(largest->name)));
  }
  const uint64_t idle = report.whole.experts_total - report.whole.experts_touched;
  if (report.has_tallies() && idle > 0 && report.totals.elements_changed > 0) {
    out.push_back(fmt::format("{} of {} experts did not change at all", idle, report.whole.experts_total));
  }
}

// Where the changed share falls as weights grow: an update smaller than half the step to the next number is lost. The
// threshold is put where it tells the most apart, and told if small weights change five times as often.
void FindVisibility(const StatsReport& report, Sentences& out) {
  for (const ExponentTable& table : report.exponents) {
    uint64_t elements = table.tiny.elements, changed = table.tiny.elements_changed;
    uint64_t elements_above = 0, changed_above = 0;
    for (const ExponentRow& row : table.rows) elements_above += row.elements, changed_above += row.elements_changed;
    const uint64_t all = elements + elements_above;
    double best = 5, share_below = 0, share_above = 0;
    std::optional<int> threshold;
    for (const ExponentRow& row : table.rows) {
      const double below = Share(changed, elements), above = Share(changed_above, elements_above);
      const bool both_matter = elements >= all / 100 && elements_above >= all / 100;
      if (both_matter && below > best * std::max(above, 1e-9)) {
        best = below / std::max(above, 1e-9);
        threshold = row.exponent;
        share_below = below;
        share_above = above;
      }
      elements += row.elements, changed += row.elements_changed;
      elements_above -= row.elements, changed_above -= row.elements_changed;
    }
    if (!threshold) continue;
    out.push_back(
        fmt::format("of the {} weights below 2^{} {} changed, of the others {}: updates of larger weights are "
                    "mostly too small for this type to show",
                    table.dtype, *threshold, Percent(share_below), Percent(share_above)));
  }
}

void FindLongSteps(const StatsReport& report, Sentences& out) {
  uint64_t all = 0, far = 0;
  for (const StepRow& row : report.steps) {
    all += row.down + row.up;
    if (row.least > 16) far += row.down + row.up;
  }
  if (Share(far, all) <= 0.05) return;
  out.push_back(
      fmt::format("{} of the changes go further than 16 steps in the bit pattern; one optimizer step mostly "
                  "makes one",
                  Percent(Share(far, all))));
}

// A record that changed far more than the others do.
void FindOutliers(const StatsReport& report, Sentences& out) {
  std::vector<double> shares;
  for (const StatsRecord& record : report.records) {
    if (record.info.delta_bytes) shares.push_back(ShareOf(record.info.totals));
  }
  if (shares.size() < 5) return;
  const auto middle = shares.begin() + static_cast<ptrdiff_t>(shares.size() / 2);
  std::nth_element(shares.begin(), middle, shares.end());
  const double median = *middle;
  uint64_t outliers = 0;
  const StatsRecord* worst = nullptr;
  double worst_share = 5 * median;
  for (const StatsRecord& record : report.records) {
    const double share = ShareOf(record.info.totals);
    if (!record.info.delta_bytes || share <= 5 * median) continue;
    ++outliers;
    if (share > worst_share) worst = &record, worst_share = share;
  }
  if (!worst) return;
  out.push_back(fmt::format("{} of {} updates changed more than five times the median of {}, the most {} in {}{}",
                            outliers, shares.size(), Percent(median), Percent(worst_share),
                            report.subject == StatsSubject::kHistory ? "record " : "",
                            report.subject == StatsSubject::kHistory ? worst->name : Quoted(worst->name)));
}

}  // namespace

std::vector<std::string> FindUnusual(const StatsReport& report) {
  Sentences sentences;
  FindNotNumbers(report, sentences);
  FindForms(report, sentences);
  if (report.has_tallies()) {
    FindDensity(report, sentences);
    FindUntouched(report, sentences);
    FindVisibility(report, sentences);
    FindLongSteps(report, sentences);
  }
  FindOutliers(report, sentences);
  return sentences;
}

}  // namespace wdelta
