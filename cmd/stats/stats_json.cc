// The report of `stats` as fields of the JSON object: everything, in the words that all commands share.
#include "stats/stats_view.h"

namespace wdelta {

namespace {

std::string_view SubjectName(StatsSubject subject) {
  switch (subject) {
    case StatsSubject::kCheckpoints:
      return "checkpoints";
    case StatsSubject::kDelta:
      return "delta";
    case StatsSubject::kDeltaAndBase:
      return "delta_and_base";
    case StatsSubject::kDeltas:
      return "deltas";
    case StatsSubject::kHistory:
      return "history";
  }
  return "unknown";
}

// A JSON array of what `object_of` makes of each item.
template <class Item, class ObjectOf>
std::string JsonList(const std::vector<Item>& items, const ObjectOf& object_of) {
  std::vector<std::string> texts;
  texts.reserve(items.size());
  for (const Item& item : items) texts.push_back(object_of(item));
  return JsonArray(texts);
}

std::string JsonExponent(const ExponentRow& row) {
  JsonObject object;
  object.SetJson("exponent", std::to_string(row.exponent));
  object.SetNumber("elements_total", row.elements);
  object.SetNumber("elements_changed", row.elements_changed);
  return object.Text();
}

std::string JsonExponents(const ExponentTable& table) {
  JsonObject object;
  object.SetText("dtype", table.dtype);
  object.SetJson("zero_or_subnormal", JsonExponent(table.tiny));
  object.SetJson("rows", JsonList(table.rows, JsonExponent));
  object.SetJson("inf_or_nan", JsonExponent(table.special));
  return object.Text();
}

std::string JsonStep(const StepRow& row) {
  JsonObject object;
  object.SetNumber("least", row.least);
  object.SetNumber("most", row.most);
  object.SetNumber("down", row.down);
  object.SetNumber("up", row.up);
  return object.Text();
}

std::string JsonMover(const TensorStats& tensor) {
  JsonObject object;
  object.SetText("name", tensor.name);
  object.SetNumber("index", tensor.tally->largest_at);
  object.SetReal("before", tensor.tally->largest_before);
  object.SetReal("after", tensor.tally->largest_after);
  object.SetReal("change", tensor.tally->largest_change);
  return object.Text();
}

std::string JsonEncoding(const EncodingSize& encoding) {
  JsonObject object;
  object.SetText("name", encoding.name);
  object.SetKnownText("users", encoding.users);
  object.SetNumber("bytes", encoding.bytes);
  object.SetFlag("is_bound", encoding.is_bound);
  return object.Text();
}

std::string JsonGate(const GateAnswer& answer) {
  JsonObject object;
  object.SetText("gate", answer.gate.text);
  object.SetReal("measured", answer.measured);
  object.SetReal("limit", answer.gate.limit);
  object.SetKnownText("record", answer.where);
  object.SetFlag("failed", answer.failed);
  return object.Text();
}

std::string JsonChange(const FigureChange& change) {
  JsonObject object;
  object.SetText("name", change.name);
  for (const auto& [key, value] : {std::pair{"before", change.before}, {"now", change.now}}) {
    if (value) {
      object.SetReal(key, *value);
    } else {
      object.SetNull(key);
    }
  }
  object.SetFlag("failed", change.failed);
  return object.Text();
}

// The figures of both sides, which only reading them tells.
void SetTallied(JsonObject& fields, const StatsReport* report) {
  const bool known = report && report->has_tallies();
  const auto figure = [&](std::string_view key, uint64_t value) {
    fields.SetKnownNumber(key, known ? std::optional(value) : std::nullopt);
  };
  const StatsReport blank;
  const StatsReport& from = known ? *report : blank;
  figure("nan", from.nan);
  figure("inf", from.inf);
  figure("base_nan", from.base_nan);
  figure("base_inf", from.base_inf);
  figure("rows_total", from.whole.rows_total);
  figure("rows_untouched", from.whole.rows_total - from.whole.rows_touched);
  figure("experts_total", from.whole.experts_total);
  figure("experts_untouched", from.whole.experts_total - from.whole.experts_touched);
}

}  // namespace

void SetStatsFields(JsonObject& fields, const StatsView* view) {
  const StatsReport* report = view ? &view->report : nullptr;
  fields.SetKnownText("subject", report ? SubjectName(report->subject) : "");
  SetTotals(fields, report ? &report->totals : nullptr);
  if (report && !report->has_tensors()) {  // records do not tell these
    for (const char* key :
         {"bytes_changed", "tensors_total", "tensors_changed", "tensors_added", "tensors_removed", "files_changed"}) {
      fields.SetNull(key);
    }
  }
  SetDeltaSize(fields, report ? &report->totals : nullptr, report ? report->delta_bytes : std::nullopt);
  SetIdentities(fields, report ? &report->base : nullptr, report ? &report->result : nullptr);
  SetTallied(fields, report);
  for (const char* list : {"by", "tensors", "groups", "records", "files", "exponents", "steps", "movers", "encodings",
                           "findings", "gates", "changes"}) {
    fields.SetNull(list);
  }
  if (!view) return;
  fields.SetText("by", view->by);
  const char* rows = view->by == "tensor" ? "tensors" : view->by == "step" ? "records" : "groups";
  fields.SetJson(rows, JsonArray(StatsJsonRows(*view)));
  if (report->has_tensors()) fields.SetJson("files", JsonList(report->files, JsonFile));
  if (report->has_tallies()) {
    fields.SetJson("exponents", JsonList(report->exponents, JsonExponents));
    fields.SetJson("steps", JsonList(report->steps, JsonStep));
    fields.SetJson("movers", JsonList(report->movers, [&](size_t at) { return JsonMover(report->tensors[at]); }));
  }
  if (!report->encodings.empty()) fields.SetJson("encodings", JsonList(report->encodings, JsonEncoding));
  fields.SetJson("findings", JsonList(report->findings, [](const std::string& text) { return JsonString(text); }));
  fields.SetJson("gates", JsonList(view->gates, JsonGate));
  if (!view->changes.empty()) fields.SetJson("changes", JsonList(view->changes, JsonChange));
}

}  // namespace wdelta
