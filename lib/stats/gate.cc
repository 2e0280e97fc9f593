// Gates: conditions on a report that CI can trust. An expression that cannot be evaluated is an error, never a pass.
//
//   FIGURE [ '(' PATTERN ')' ]  <|<=|>|>=|==|!=  NUMBER [ % | K | M | G | T [ i ] [ B ] ]
#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/boundary.h"
#include "core/text.h"
#include "stats/gate_figures.h"

namespace wdelta {

namespace {

constexpr size_t kMostText = 4096;

Error Malformed(std::string_view text, const std::string& why) {
  std::string names;
  for (const GateFigure& figure : AllGateFigures()) names += (names.empty() ? "" : ", ") + std::string(figure.name);
  return Error{ErrorKind::kUsage, "'" + Shorten(text) + "' is not a condition: " + why,
               "for example 'sparsity<0.97' or 'changed(model.embed_tokens.*)>0'; figures: " + names};
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// What stands behind a number, as a factor; absent for an unknown unit.
std::optional<double> UnitFactor(std::string_view unit) {
  if (unit.empty() || unit == "B") return 1;
  if (unit == "%") return 0.01;
  static constexpr std::string_view kLetters = "KMGTP";
  const char letter = unit.front() == 'k' ? 'K' : unit.front();
  const size_t power = kLetters.find(letter);
  if (power == std::string_view::npos) return std::nullopt;
  unit.remove_prefix(1);
  const bool binary = unit.starts_with('i');
  if (binary) unit.remove_prefix(1);
  if (!unit.empty() && unit != "B") return std::nullopt;
  return std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(power + 1));
}

Result<double> ParseLimit(std::string_view whole, std::string_view text) {
  double number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc{} || !std::isfinite(number)) {
    return Malformed(whole, "'" + Shorten(text) + "' is not a number");
  }
  const std::string_view unit = Trimmed(text.substr(static_cast<size_t>(end - text.data())));
  const std::optional<double> factor = UnitFactor(unit);
  if (!factor) return Malformed(whole, "'" + Shorten(unit) + "' is not a unit (%, KB, MB, GB, KiB, MiB, GiB)");
  return number * *factor;
}

bool Holds(double measured, Gate::Relation relation, double limit) {
  const Gate::Relation found = measured < limit   ? Gate::Relation::kLess
                               : measured > limit ? Gate::Relation::kMore
                                                  : Gate::Relation::kEqual;
  return (static_cast<int>(relation) & static_cast<int>(found)) != 0;
}

Error NotKnown(const Gate& gate, const std::string& why, const std::string& hint) {
  return Error{ErrorKind::kUsage, "'" + Shorten(gate.text) + "' cannot be evaluated: " + why, hint};
}

// Of several records, the one that is furthest on the wrong side.
Result<GateAnswer> CheckRecords(const Gate& gate, const GateFigure& figure, const StatsReport& report) {
  if (!figure.of_records) {
    return NotKnown(gate, "records do not have '" + gate.figure + "'", "compare two checkpoints, or look at one delta");
  }
  std::optional<GateAnswer> worst;
  const bool high_is_worse = gate.relation == Gate::Relation::kMore || gate.relation == Gate::Relation::kMoreOrEqual;
  for (const StatsRecord& record : report.records) {
    if (!record.info.delta_bytes) continue;  // a whole model is no update
    const std::optional<double> measured = figure.measure({record.info.totals, record.info.delta_bytes});
    if (!measured) continue;
    const GateAnswer answer{gate, *measured, record.name, Holds(*measured, gate.relation, gate.limit)};
    const bool is_worse =
        worst && (high_is_worse ? answer.measured > worst->measured : answer.measured < worst->measured);
    if (!worst || (answer.failed && !worst->failed) || (answer.failed == worst->failed && is_worse)) worst = answer;
  }
  if (!worst) return NotKnown(gate, "there is no record with a delta", "a history begins with a whole model");
  return *worst;
}

Result<Gate> DoParseGate(std::string_view text) {
  Gate gate;
  gate.text = text;
  if (text.size() > kMostText) return Malformed(text, "it is too long");
  size_t at = text.find_first_of("(<>=!");
  if (at == std::string_view::npos) return Malformed(text, "a relation is missing (<, <=, >, >=, ==, !=)");
  gate.figure = Trimmed(text.substr(0, at));
  const GateFigure* figure = FindGateFigure(gate.figure);
  if (!figure) return Malformed(text, "there is no figure '" + Shorten(gate.figure) + "'");
  std::string_view rest = text.substr(at);
  if (rest.front() == '(') {
    // Names may hold brackets of their own, so the last one before the relation counts.
    const size_t end = rest.rfind(')');
    if (end == std::string_view::npos) return Malformed(text, "')' is missing");
    gate.pattern = rest.substr(1, end - 1);
    if (gate.pattern.empty()) return Malformed(text, "the pattern is empty");
    if (!figure->of_tensors) return Malformed(text, "'" + gate.figure + "' is of the whole model only");
    rest = Trimmed(rest.substr(end + 1));
  }
  static constexpr std::pair<std::string_view, Gate::Relation> kRelations[] = {
      {"<=", Gate::Relation::kLessOrEqual}, {">=", Gate::Relation::kMoreOrEqual}, {"==", Gate::Relation::kEqual},
      {"!=", Gate::Relation::kNotEqual},    {"<", Gate::Relation::kLess},         {">", Gate::Relation::kMore},
      {"=", Gate::Relation::kEqual},
  };
  for (const auto& [word, relation] : kRelations) {
    if (!rest.starts_with(word)) continue;
    gate.relation = relation;
    WD_ASSIGN(gate.limit, ParseLimit(text, Trimmed(rest.substr(word.size()))));
    return gate;
  }
  return Malformed(text, "a relation is missing (<, <=, >, >=, ==, !=)");
}

}  // namespace

Result<Gate> ParseGate(std::string_view text) {
  return Guarded(DoParseGate, text);
}

bool NeedsDeltaSize(const Gate& gate) {
  return gate.figure == "delta_bytes" || gate.figure == "ratio";
}

namespace {

Result<GateAnswer> DoCheckGate(const Gate& gate, const StatsReport& report) {
  const GateFigure* figure = FindGateFigure(gate.figure);
  if (!figure) return NotKnown(gate, "there is no figure '" + gate.figure + "'", "");
  const bool patterned = !gate.pattern.empty();
  if (!report.has_tensors()) {
    if (patterned) return NotKnown(gate, "records do not tell tensors apart", "compare two checkpoints");
    return CheckRecords(gate, *figure, report);
  }
  const GateScope scope = patterned ? ScopeOfTensors(report, gate.pattern) : ScopeOfModel(report);
  // The index of a delta names only what it touches: what is not there may be in the model, unchanged.
  static constexpr std::string_view kOfChanges[] = {"changed", "elements_changed", "tensors_changed", "tensors_added",
                                                    "tensors_removed"};
  const bool counts_changes = std::ranges::find(kOfChanges, gate.figure) != std::end(kOfChanges);
  if (patterned && report.subject == StatsSubject::kDelta && !counts_changes) {
    return NotKnown(gate, "a delta alone does not know the tensors that did not change", "give its base with '--base'");
  }
  if (patterned && scope.totals.tensors_total + scope.totals.tensors_removed == 0 &&
      report.subject != StatsSubject::kDelta) {
    return Error{ErrorKind::kNotFound,
                 "'" + Shorten(gate.text) + "' cannot be evaluated: no tensor matches the pattern",
                 "'wdelta cat' lists the tensors of a checkpoint"};
  }
  const std::optional<double> measured = figure->measure(scope);
  if (!measured) {
    return NotKnown(gate, "'" + gate.figure + "' is not known of a delta alone", "give its base with '--base'");
  }
  return GateAnswer{gate, *measured, "", Holds(*measured, gate.relation, gate.limit)};
}

}  // namespace

Result<GateAnswer> CheckGate(const Gate& gate, const StatsReport& report) {
  return Guarded(DoCheckGate, gate, report);
}

}  // namespace wdelta
