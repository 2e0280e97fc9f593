// Which parts a report has, and in which order; the figures of the whole; and what was found or demanded.
#include "stats/stats_parts.h"

namespace wdelta {

namespace {

using Kind = PartColumn::Kind;

// A figure of two reports side by side: shares in percent, and their change in points of it.
std::string FigureText(const FigureChange& change, const std::optional<double>& value) {
  if (!value) return "-";
  return change.is_share ? RealText(100 * *value) + " %" : RealText(*value);
}

std::string DifferenceText(const FigureChange& change) {
  if (!change.before || !change.now) return "-";
  const double difference = *change.now - *change.before;
  if (difference == 0) return "0";
  const std::string sign = difference > 0 ? "+" : "";
  return sign + (change.is_share ? RealText(100 * difference) + " points" : RealText(difference));
}

StatsPart FindingsPart(const StatsReport& report) {
  StatsPart part;
  part.title = "findings";
  part.sentences = report.findings;
  return part;
}

StatsPart GatesPart(const std::vector<GateAnswer>& gates) {
  StatsPart part;
  part.title = "gates";
  const bool has_places =
      std::any_of(gates.begin(), gates.end(), [](const GateAnswer& gate) { return !gate.where.empty(); });
  SetTable<GateAnswer>(
      part, gates, {},
      {{{"result", Kind::kVerdict}, [](auto& gate) { return VerdictWord(gate.failed); }},
       {{"fails if", Kind::kName}, [](auto& gate) { return gate.gate.text; }},
       {{"measured", Kind::kFigure}, [](auto& gate) { return RealTextBeside(gate.measured, gate.gate.limit); }},
       {{"where", Kind::kName}, [](auto& gate) { return gate.where; }, has_places}});
  return part;
}

StatsPart ChangesPart(const std::vector<FigureChange>& changes) {
  StatsPart part;
  part.title = "against the earlier report";
  SetTable<FigureChange>(part, changes, {},
                         {{{"result", Kind::kVerdict}, [](auto& c) { return c.failed ? VerdictWord(true) : "ok"; }},
                          {{"figure", Kind::kName}, [](auto& c) { return c.name; }},
                          {{"before", Kind::kFigure}, [](auto& c) { return FigureText(c, c.before); }},
                          {{"now", Kind::kFigure}, [](auto& c) { return FigureText(c, c.now); }},
                          {{"change", Kind::kFigure}, DifferenceText}});
  return part;
}

// The same figures as a paragraph.
StatsPart UntouchedPart(const StatsReport& report, const PartChoice& choice) {
  StatsPart part;
  for (const Fact& fact : UntouchedFacts(report, choice)) {
    part.sentences.push_back(fact.name + ": " + fact.figure + fact.context);
  }
  return part;
}

std::string OfAll(uint64_t part, uint64_t whole, const PartChoice& choice) {
  return " of " + Grouped(whole) + " (" + choice.Share(part, whole) + ")";
}

std::vector<StatsPart> WithContent(std::vector<StatsPart> parts) {
  std::erase_if(parts, [](const StatsPart& part) { return part.empty(); });
  return parts;
}

}  // namespace

std::vector<Fact> TotalFacts(const StatsReport& report, const PartChoice& choice) {
  std::vector<Fact> facts;
  if (!report.has_tensors()) return facts;
  const Totals& totals = report.totals;
  const auto add_change = [&](const char* name, uint64_t changed, uint64_t total) {
    facts.push_back({name, Grouped(changed), OfAll(changed, total, choice), "", true});
  };
  add_change("elements changed", totals.elements_changed, totals.elements_total);
  if (totals.elements_total > 0) {
    const uint64_t same = totals.elements_total - std::min(totals.elements_changed, totals.elements_total);
    facts.push_back(
        {"sparsity", choice.Share(same, totals.elements_total), "", "1 - changed/total over the whole model"});
  }
  add_change("tensors changed", totals.tensors_changed, totals.tensors_total);
  facts.push_back(
      {"tensors added, removed", Grouped(totals.tensors_added) + ", " + Grouped(totals.tensors_removed), "", "", true});
  facts.push_back({"other files changed", Grouped(totals.files_changed), "", "", true});
  if (report.delta_bytes) {
    facts.push_back({"bytes of the delta", Grouped(*report.delta_bytes)});
    facts.push_back({"bytes of all tensors", Grouped(totals.bytes_total)});
    facts.push_back({"ratio", RatioText(totals.bytes_total, report.delta_bytes)});
  }
  return facts;
}

std::vector<Fact> UntouchedFacts(const StatsReport& report, const PartChoice& choice) {
  std::vector<Fact> facts;
  const auto add_untouched = [&](const char* name, uint64_t total, uint64_t touched) {
    if (total == 0 || !HasDifference(report)) return;
    const uint64_t untouched = total - std::min(touched, total);
    facts.push_back({name, Grouped(untouched), OfAll(untouched, total, choice)});
  };
  add_untouched("rows untouched", report.whole.rows_total, report.whole.rows_touched);
  add_untouched("experts untouched", report.whole.experts_total, report.whole.experts_touched);
  const auto add_special = [&](const char* name, uint64_t now, uint64_t before) {
    if (now + before > 0) facts.push_back({name, Grouped(now), ", in the base " + Grouped(before)});
  };
  add_special("NaN", report.nan, report.base_nan);
  add_special("Inf", report.inf, report.base_inf);
  return facts;
}

StatsPart MainPart(const StatsView& view, const PartChoice& choice) {
  return view.by == "step" ? RecordsPart(view.report, choice) : RowsPart(view, choice);
}

std::vector<StatsPart> DetailParts(const StatsView& view, const PartChoice& choice) {
  const StatsReport& report = view.report;
  std::vector<StatsPart> parts = {RecordSummaryPart(report, choice)};
  for (const ChangeKind kind :
       {ChangeKind::kAdded, ChangeKind::kRemoved, ChangeKind::kReshaped, ChangeKind::kRetyped}) {
    parts.push_back(FormPart(report, kind, choice));
  }
  parts.push_back(FilesPart(report, choice));
  if (!choice.is_page) {
    for (const ExponentTable& table : report.exponents) parts.push_back(ExponentPart(table, choice));
    parts.push_back(StepPart(report.steps, choice));
    parts.push_back(UntouchedPart(report, choice));
  }
  parts.push_back(MoversPart(report, choice));
  parts.push_back(EncodingsPart(report, choice));
  return WithContent(std::move(parts));
}

std::vector<StatsPart> VerdictParts(const StatsView& view) {
  return WithContent({FindingsPart(view.report), GatesPart(view.gates), ChangesPart(view.changes)});
}

}  // namespace wdelta
