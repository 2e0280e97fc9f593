// Which parts a report has, and in which order; the figures of the whole; and what was found or demanded.
#include "stats/stats_parts.h"

#include <fmt/format.h>

namespace wdelta {

namespace {

constexpr const char* kDefaultEncoding = "wdelta";  // at its default level

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

StatsPart GatesPart(const std::vector<GateAnswer>& gates) {
  const bool has_places = std::ranges::any_of(gates, [](auto& gate) { return !gate.where.empty(); });
  return TablePart<GateAnswer>(
      "gates", gates, {},
      {{{"result", Kind::kVerdict}, [](auto& gate) { return VerdictWord(gate.failed); }},
       {{"fails if", Kind::kName}, [](auto& gate) { return gate.gate.text; }},
       {{"measured", Kind::kFigure}, [](auto& gate) { return RealTextBeside(gate.measured, gate.gate.limit); }},
       {{"where", Kind::kName}, [](auto& gate) { return gate.where; }, has_places}});
}

StatsPart ChangesPart(const std::vector<FigureChange>& changes) {
  return TablePart<FigureChange>(
      "against the earlier report", changes, {},
      {{{"result", Kind::kVerdict}, [](auto& c) { return c.failed ? VerdictWord(true) : "ok"; }},
       {{"figure", Kind::kName}, [](auto& c) { return c.name; }},
       {{"before", Kind::kFigure}, [](auto& c) { return FigureText(c, c.before); }},
       {{"now", Kind::kFigure}, [](auto& c) { return FigureText(c, c.now); }},
       {{"change", Kind::kFigure}, DifferenceText}});
}

// A removed tensor has only an old form, an added one only a new one.
std::string FormText(const TensorStats& tensor) {
  const std::string before = tensor.old_dtype + ' ' + ShapeText(tensor.old_shape);
  const std::string after = tensor.dtype + ' ' + ShapeText(tensor.shape);
  if (tensor.old_dtype.empty()) return after;
  return tensor.dtype.empty() ? before : before + " -> " + after;
}

StatsPart FormPart(const StatsReport& report, ChangeKind kind, const PartChoice& choice) {
  std::vector<const TensorStats*> tensors;
  for (const TensorStats& tensor : report.tensors) {
    if (tensor.kind == kind) tensors.push_back(&tensor);
  }
  return TablePart<const TensorStats*>(
      std::string(ChangeName(kind)) + " tensors", tensors, choice,
      {{{"name", Kind::kName}, [](auto& tensor) { return tensor->name; }},
       {{"form", Kind::kName}, [](auto& tensor) { return FormText(*tensor); }},
       {{"elements", Kind::kFigure}, [](auto& tensor) { return Grouped(tensor->elements); }}});
}

StatsPart FilesPart(const StatsReport& report, const PartChoice& choice) {
  return TablePart<FileChange>("changed files", report.files, choice,
                               {{{"path", Kind::kName}, [](auto& file) { return file.path; }},
                                {{"change", Kind::kWord}, [](auto& file) {
                                   return (file.is_header ? "header " : "") + std::string(ChangeName(file.kind));
                                 }}});
}

StatsPart EncodingsPart(const StatsReport& report, const PartChoice& choice) {
  if (report.encodings.empty()) return {};
  std::vector<EncodingSize> encodings = report.encodings;
  std::ranges::stable_sort(encodings, {}, &EncodingSize::bytes);
  const auto ours = std::ranges::find(encodings, kDefaultEncoding, &EncodingSize::name);
  const std::optional<uint64_t> our_bytes = ours == encodings.end() ? std::nullopt : std::optional(ours->bytes);
  const uint64_t largest = encodings.back().bytes, changed = report.totals.elements_changed;
  StatsPart part = TablePart<EncodingSize>(
      "encodings", encodings, choice.WithAllRows(),
      {{{"encoding", Kind::kName},
        [](auto& encoding) {
          const std::string remark = encoding.is_bound ? "bound" : encoding.users;
          return encoding.name + (remark.empty() ? "" : " (" + remark + ")");
        }},
       {{"bytes", Kind::kFigure}, [](auto& encoding) { return Grouped(encoding.bytes); }},
       {{"ratio", Kind::kFigure}, [&](auto& encoding) { return RatioText(encoding.bytes, our_bytes); }},
       {{"bits per change", Kind::kFigure, Room::kPage},
        [&](auto& encoding) { return fmt::format("{:.2f}", 8 * PartOf(encoding.bytes, changed)); }},
       {{"", Kind::kBar, Room::kWide}, [&](auto& encoding) { return PartOf(encoding.bytes, largest); }}},
      "bytes of the whole delta, smallest first");
  part.legend.push_back(std::string("ratio: to ") + kDefaultEncoding +
                        "; bound: an entropy, no encoding of its kind is smaller");
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
  return WithContent(
      {{.title = "findings", .sentences = view.report.findings}, GatesPart(view.gates), ChangesPart(view.changes)});
}

}  // namespace wdelta
