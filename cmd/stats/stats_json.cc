// The report of `stats` as fields of the JSON object: everything, in the words that all commands share.
#include "stats/stats_view.h"

namespace wdelta {

namespace {

JsonObject JsonExponent(const ExponentRow& row) {
  return {{"exponent", row.exponent}, {"elements_total", row.elements}, {"elements_changed", row.elements_changed}};
}

JsonObject JsonExponents(const ExponentTable& table) {
  return {{"dtype", table.dtype},
          {"zero_or_subnormal", JsonExponent(table.tiny)},
          {"rows", JsonList(table.rows, JsonExponent)},
          {"inf_or_nan", JsonExponent(table.special)}};
}

JsonObject JsonStep(const StepRow& row) {
  return {{"least", row.least}, {"most", row.most}, {"down", row.down}, {"up", row.up}};
}

JsonObject JsonMover(const TensorStats& tensor) {
  return {{"name", tensor.name},
          {"index", tensor.tally->largest_at},
          {"before", tensor.tally->largest_before},
          {"after", tensor.tally->largest_after},
          {"change", tensor.tally->largest_change}};
}

JsonObject JsonEncoding(const EncodingSize& encoding) {
  return {{"name", encoding.name},
          {"users", JsonValue::Known(encoding.users)},
          {"bytes", encoding.bytes},
          {"is_bound", encoding.is_bound}};
}

JsonObject JsonGate(const GateAnswer& answer) {
  return {{"gate", answer.gate.text},
          {"measured", answer.measured},
          {"limit", answer.gate.limit},
          {"record", JsonValue::Known(answer.where)},
          {"failed", answer.failed}};
}

JsonObject JsonChange(const FigureChange& change) {
  return {{"name", change.name}, {"before", change.before}, {"now", change.now}, {"failed", change.failed}};
}

// The figures of both sides, which only reading them tells.
JsonObject TalliedFields(const StatsReport& report) {
  const GroupRow& whole = report.whole;
  return {{"nan", report.nan},
          {"inf", report.inf},
          {"base_nan", report.base_nan},
          {"base_inf", report.base_inf},
          {"rows_total", whole.rows_total},
          {"rows_untouched", whole.rows_total - whole.rows_touched},
          {"experts_total", whole.experts_total},
          {"experts_untouched", whole.experts_total - whole.experts_touched}};
}

}  // namespace

JsonObject StatsFields(const StatsView& view) {
  static constexpr const char* kSubjects[] = {"checkpoints", "delta", "delta_and_base", "deltas", "history"};
  const StatsReport& report = view.report;
  JsonObject fields = {{"subject", kSubjects[static_cast<size_t>(report.subject)]}};
  SetTotals(fields, &report.totals);
  if (!report.has_tensors()) {  // records do not tell these
    fields.Append(NullFields(
        {"bytes_changed", "tensors_total", "tensors_changed", "tensors_added", "tensors_removed", "files_changed"}));
  }
  SetDeltaSize(fields, &report.totals, report.delta_bytes);
  SetIdentities(fields, report.base, report.result);
  const JsonObject tallied = TalliedFields(report);
  fields.Append(report.has_tallies() ? tallied : tallied.Blank());
  fields.Set("by", view.by);
  fields.Append(NullFields({"tensors", "groups", "records"}));
  const char* rows = view.by == "tensor" ? "tensors" : view.by == "step" ? "records" : "groups";
  fields.Set(rows, JsonValue::FromJson(JsonArray(StatsJsonRows(view))));
  const auto list_if = [](bool is_known, const auto& items, const auto& object_of) {
    return is_known ? JsonList(items, object_of) : JsonValue();
  };
  const auto mover = [&](size_t at) { return JsonMover(report.tensors[at]); };
  fields.Append({{"files", list_if(report.has_tensors(), report.files, JsonFile)},
                 {"exponents", list_if(report.has_tallies(), report.exponents, JsonExponents)},
                 {"steps", list_if(report.has_tallies(), report.steps, JsonStep)},
                 {"movers", list_if(report.has_tallies(), report.movers, mover)},
                 {"encodings", list_if(!report.encodings.empty(), report.encodings, JsonEncoding)},
                 {"findings", report.findings},
                 {"gates", JsonList(view.gates, JsonGate)},
                 {"changes", list_if(!view.changes.empty(), view.changes, JsonChange)}});
  return fields;
}

JsonObject BlankStatsFields() {
  const StatsReport nothing;
  JsonObject fields = StatsFields({nothing, "", {}, 0, {}, {}}).Blank();
  fields.Append(NullFields({"groups", "files", "exponents", "steps", "movers", "findings", "gates"}));
  return fields;
}

}  // namespace wdelta
