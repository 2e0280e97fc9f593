#include "stats/stats_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wdelta {

namespace {

std::string RangeText(uint64_t first, uint64_t last) {
  return first == last ? std::to_string(first) : std::to_string(first) + " to " + std::to_string(last);
}

}  // namespace

std::string ShortCount(uint64_t number) {
  if (number < 10000) return Grouped(number);
  static constexpr const char* kUnits[] = {"", "k", "M", "G", "T", "P", "E"};
  const auto [value, unit] = ScaledDown(static_cast<double>(number), 1000, 999.5);
  const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, digits, kUnits[unit]);
}

std::string RatioText(uint64_t bytes_total, const std::optional<uint64_t>& delta_bytes) {
  if (bytes_total == 0 || delta_bytes.value_or(0) == 0) return "-";
  const double ratio = PartOf(bytes_total, *delta_bytes);
  return ratio < 99.95 ? fmt::format("{:.{}f}", ratio, ratio < 9.995 ? 2 : 1) : Grouped(std::llround(ratio));
}

std::string RealText(double value) {
  if (std::abs(value) < 1e15 && value == std::floor(value)) {
    return (value < 0 ? "-" : "") + Grouped(static_cast<uint64_t>(std::abs(value)));
  }
  return fmt::format("{:.6g}", value);
}

std::string RealTextBeside(double value, double other) {
  // 17 digits tell any two numbers of this type apart; most pairs need no more than the six of RealText.
  if (value == other) return RealText(value);
  for (int digits = 6; digits < 17; ++digits) {
    const std::string text = fmt::format("{:.{}g}", value, digits);
    if (text != fmt::format("{:.{}g}", other, digits)) return value == std::floor(value) ? RealText(value) : text;
  }
  return fmt::format("{:.17g}", value);
}

bool NaturalLess(std::string_view a, std::string_view b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  while (!a.empty() && !b.empty()) {
    const auto length = [&](std::string_view text) {
      return static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
    };
    const size_t digits_a = length(a), digits_b = length(b);
    // Of two numbers the one with more digits is larger, so their lengths decide first.
    if (digits_a != digits_b && digits_a > 0 && digits_b > 0) return digits_a < digits_b;
    if (a.front() != b.front()) return a.front() < b.front();
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.size() < b.size();
}

std::string GateText(const GateAnswer& answer) {
  return answer.gate.text + ": measured " + RealTextBeside(answer.measured, answer.gate.limit) + ", limit " +
         RealText(answer.gate.limit) + (answer.where.empty() ? "" : " (in " + answer.where + ")");
}

std::string ChangeText(const FigureChange& change) {
  const auto text = [&](const std::optional<double>& value, const std::optional<double>& other) {
    return value ? RealTextBeside(*value, other.value_or(*value)) : "unknown";
  };
  return change.name + " was " + text(change.before, change.now) + ", is " + text(change.now, change.before);
}

bool HasFailed(const StatsView& view) {
  return std::ranges::any_of(view.gates, &GateAnswer::failed) ||
         std::ranges::any_of(view.changes, &FigureChange::failed);
}

std::string VerdictText(const StatsView& view) {
  const auto gates = static_cast<int64_t>(view.gates.size());
  const auto failed = std::ranges::count_if(view.gates, &GateAnswer::failed);
  const auto changed = std::ranges::count_if(view.changes, &FigureChange::failed);
  std::string text;
  if (failed > 0) {
    text = Grouped(failed) + " of " + Counted(gates, "gate") + " failed";
  } else if (gates > 0) {
    text = gates == 1 ? "the gate passed" : "all " + Grouped(gates) + " gates passed";
  }
  if (changed > 0) {
    text += (text.empty() ? "" : "; ") + Counted(changed, "figure") + " changed by more than is tolerated";
  }
  return text;
}

RecordSummary SummaryOf(const std::vector<StatsRecord>& records) {
  RecordSummary summary;
  const auto share = [](const StatsRecord* record) {
    return PartOf(record->info.totals.elements_changed, record->info.totals.elements_total);
  };
  for (const StatsRecord& record : records) {
    if (!record.info.delta_bytes) {
      ++summary.anchors;
      continue;
    }
    const Totals& totals = record.info.totals;
    ++summary.deltas;
    summary.delta_bytes += *record.info.delta_bytes;
    summary.bytes_total += totals.bytes_total;
    summary.elements_total += totals.elements_total;
    summary.elements_changed += totals.elements_changed;
    const auto bytes = [](const StatsRecord* r) { return *r->info.delta_bytes; };
    if (!summary.least_bytes || bytes(&record) < bytes(summary.least_bytes)) summary.least_bytes = &record;
    if (!summary.most_bytes || bytes(&record) > bytes(summary.most_bytes)) summary.most_bytes = &record;
    if (totals.elements_total == 0) continue;
    if (!summary.least_share || share(&record) < share(summary.least_share)) summary.least_share = &record;
    if (!summary.most_share || share(&record) > share(summary.most_share)) summary.most_share = &record;
  }
  return summary;
}

std::string RecordsText(const StatsReport& report) {
  if (report.has_tensors()) return "";
  const std::string deltas = Counted(SummaryOf(report.records).deltas, "delta");
  if (report.subject != StatsSubject::kHistory || report.records.empty()) return deltas;
  const RecordInfo &first = report.records.front().info, &last = report.records.back().info;
  std::string text =
      deltas + " in " + Counted(report.records.size(), "record") + " (" + RangeText(first.number, last.number);
  if (first.step && last.step) text += ", step " + RangeText(*first.step, *last.step);
  return text + ")";
}

bool HasDifference(const StatsReport& report) {
  const Totals& totals = report.totals;
  return totals.elements_changed || totals.tensors_changed || totals.tensors_added || totals.tensors_removed ||
         totals.files_changed || !report.files.empty();
}

std::string HeadlineText(const StatsReport& report, int digits) {
  if (report.has_tensors()) {
    if (!HasDifference(report)) return "no difference";
    return Percent(report.totals.elements_changed, report.totals.elements_total, digits) + " of the elements changed";
  }
  const RecordSummary summary = SummaryOf(report.records);
  if (summary.deltas == 0) return RecordsText(report);
  return Percent(summary.elements_changed, summary.elements_total, digits) + " of the elements changed on average";
}

std::string SubjectText(const StatsReport& report, const std::function<std::string(const std::string&)>& marked) {
  constexpr size_t kMostNames = 3;
  std::string text;
  for (size_t i = 0; i < std::min(report.names.size(), kMostNames); ++i) {
    text += (i == 0 ? "" : report.has_tensors() ? " → " : ", ") + marked(report.names[i]);
  }
  if (report.names.size() > kMostNames) text += " and " + Grouped(report.names.size() - kMostNames) + " more";
  return text;
}

std::vector<std::string> OpeningSentences(const StatsView& view, int digits) {
  const StatsReport& report = view.report;
  const Totals& totals = report.totals;
  std::vector<std::string> sentences;
  const auto tell_sparsity = [&](uint64_t changed, uint64_t total, const char* of) {
    if (total > 0) {
      sentences.push_back("sparsity: " + Percent(total - std::min(changed, total), total, digits) +
                          " (1 - changed/total " + of + ")");
    }
  };
  if (!report.has_tensors()) {
    const RecordSummary summary = SummaryOf(report.records);
    std::string text = RecordsText(report) + ": " + Counted(summary.delta_bytes, "byte") + " together";
    if (summary.anchors > 0) text += "; " + Counted(summary.anchors, "anchor") + " not counted";
    sentences.push_back(text);
    tell_sparsity(summary.elements_changed, summary.elements_total, "over the whole model, mean of all deltas");
    return sentences;
  }
  if (!HasDifference(report)) {
    sentences.push_back("no difference in " + Counted(totals.elements_total, "element") + " of " +
                        Counted(totals.tensors_total, "tensor"));
  } else {
    sentences.push_back(TotalsText(totals, digits));
    tell_sparsity(totals.elements_changed, totals.elements_total, "over the whole model");
  }
  if (report.delta_bytes) {
    sentences.push_back("delta: " + Counted(*report.delta_bytes, "byte") + ", " +
                        Percent(*report.delta_bytes, totals.bytes_total, digits) + " of " +
                        Counted(totals.bytes_total, "byte") + " of tensors, ratio " +
                        RatioText(totals.bytes_total, report.delta_bytes));
  }
  return sentences;
}

}  // namespace wdelta
