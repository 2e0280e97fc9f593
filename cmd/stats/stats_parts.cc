#include "stats/stats_parts.h"

#include "numbers.h"
#include "stats/stats_words.h"

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
  part.columns = {
      {"result", Kind::kVerdict}, {"fails if", Kind::kName}, {"measured", Kind::kFigure}, {"where", Kind::kName}};
  bool has_places = false;
  for (const GateAnswer& answer : gates) {
    has_places = has_places || !answer.where.empty();
    part.rows.push_back({VerdictWord(answer.failed), answer.gate.text,
                         RealTextBeside(answer.measured, answer.gate.limit), answer.where});
  }
  if (!has_places) {
    part.columns.pop_back();
    for (auto& row : part.rows) row.pop_back();
  }
  return part;
}

StatsPart ChangesPart(const std::vector<FigureChange>& changes) {
  StatsPart part;
  part.title = "against the earlier report";
  part.columns = {{"result", Kind::kVerdict},
                  {"figure", Kind::kName},
                  {"before", Kind::kFigure},
                  {"now", Kind::kFigure},
                  {"change", Kind::kFigure}};
  for (const FigureChange& change : changes) {
    part.rows.push_back({change.failed ? VerdictWord(true) : "ok", change.name, FigureText(change, change.before),
                         FigureText(change, change.now), DifferenceText(change)});
  }
  return part;
}

void AddUnlessEmpty(std::vector<StatsPart>& parts, StatsPart part) {
  if (!part.empty()) parts.push_back(std::move(part));
}

}  // namespace

StatsPart MainPart(const StatsView& view, const PartChoice& choice) {
  return view.by == "step" ? RecordsPart(view.report, choice) : RowsPart(view, choice);
}

std::vector<StatsPart> DetailParts(const StatsView& view, const PartChoice& choice) {
  const StatsReport& report = view.report;
  std::vector<StatsPart> parts;
  const auto add = [&](StatsPart part) { AddUnlessEmpty(parts, std::move(part)); };
  if (view.by == "step") add(RecordSummaryPart(report));
  for (const ChangeKind kind :
       {ChangeKind::kAdded, ChangeKind::kRemoved, ChangeKind::kReshaped, ChangeKind::kRetyped}) {
    add(FormPart(report, kind, choice));
  }
  add(FilesPart(report, choice));
  for (const ExponentTable& table : report.exponents) add(ExponentPart(table, choice));
  add(StepPart(report.steps, choice));
  add(UntouchedPart(report));
  add(MoversPart(report));
  add(EncodingsPart(report));
  return parts;
}

std::vector<StatsPart> VerdictParts(const StatsView& view) {
  std::vector<StatsPart> parts;
  AddUnlessEmpty(parts, FindingsPart(view.report));
  AddUnlessEmpty(parts, GatesPart(view.gates));
  AddUnlessEmpty(parts, ChangesPart(view.changes));
  return parts;
}

}  // namespace wdelta
