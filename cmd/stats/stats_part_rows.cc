// The rows of a view: tensors, layers, modules, types, or the records of a history.
#include "stats/stats_parts.h"

namespace wdelta {

namespace {

double ShareOf(const GroupRow& row) {
  return PartOf(row.elements_changed, row.elements);
}

// An anchor sends a whole model, which is not a change.
double ShareOf(const RecordInfo& info) {
  return info.delta_bytes ? PartOf(info.totals.elements_changed, info.totals.elements_total) : 0;
}

std::string ShareText(const RecordInfo& info, const PartChoice& choice) {
  return info.delta_bytes ? choice.Share(info.totals.elements_changed, info.totals.elements_total) : "anchor";
}

}  // namespace

StatsPart RowsPart(const StatsView& view, const PartChoice& choice) {
  const auto largest = std::ranges::max_element(view.rows, {}, [](const GroupRow& row) { return ShareOf(row); });
  // A table of zeros tells nothing that the totals have not.
  if (largest == view.rows.end() || ShareOf(*largest) == 0) return {};
  const double largest_share = ShareOf(*largest);
  const auto any = [&](uint64_t GroupRow::*figure) {
    return std::ranges::any_of(
        view.rows, [&](uint64_t count) { return count > 0; }, figure);
  };
  const bool is_tensor = view.by == "tensor", has_experts = any(&GroupRow::experts_total);
  const bool has_rows = view.report.has_tallies() && any(&GroupRow::rows_total);
  const bool has_specials = any(&GroupRow::nan) || any(&GroupRow::inf);
  const auto tensors = is_tensor ? TensorsByName(view.report) : TensorMap{};
  const auto form = [&](const GroupRow& row, auto text_of) -> std::string {
    const TensorStats& tensor = *tensors.at(row.name);
    return tensor.dtype.empty() ? "" : text_of(tensor);  // a removed tensor has none any more
  };
  const auto count = [&](uint64_t GroupRow::*figure) {
    return [&choice, figure](const GroupRow& row) { return choice.Count(row.*figure); };
  };

  StatsPart part = TablePart<GroupRow>(
      "by " + view.by, view.rows, choice,
      {{{is_tensor ? "name" : view.by, Kind::kName}, [](auto& row) { return row.name; }},
       {{"change", Kind::kWord, Room::kPage},
        [&](auto& row) { return std::string(ChangeName(tensors.at(row.name)->kind)); },
        is_tensor},
       {{"dtype", Kind::kName, Room::kWide},
        [&](auto& row) { return form(row, [](auto& tensor) { return tensor.dtype; }); },
        is_tensor},
       {{"shape", Kind::kWord, Room::kWide},
        [&](auto& row) { return form(row, [](auto& tensor) { return ShapeText(tensor.shape); }); },
        is_tensor},
       {{"tensors", Kind::kFigure, Room::kWide}, count(&GroupRow::tensors), !is_tensor},
       {{"changed", Kind::kFigure, Room::kWide}, count(&GroupRow::tensors_changed), !is_tensor},
       {{"elements", Kind::kFigure, has_experts ? Room::kWide : Room::kAlways}, count(&GroupRow::elements)},
       {{"changed", Kind::kFigure}, count(&GroupRow::elements_changed)},
       {{"share", Kind::kFigure}, [&](auto& row) { return choice.Share(row.elements_changed, row.elements); }},
       {{"", Kind::kBar}, [&](auto& row) { return ShareOf(row) / largest_share; }},
       {{"idle rows", Kind::kFigure, is_tensor ? Room::kWide : Room::kAlways},
        [&](auto& row) {
          const uint64_t idle = row.rows_total - std::min(row.rows_touched, row.rows_total);
          return row.rows_total == 0 ? "" : choice.Share(idle, row.rows_total);
        },
        has_rows},
       {{"idle experts", Kind::kFigure},
        [](auto& row) {
          const uint64_t idle = row.experts_total - row.experts_touched;
          return row.experts_total == 0 ? "" : Grouped(idle) + " of " + Grouped(row.experts_total);
        },
        has_experts},
       {{"NaN", Kind::kFigure, Room::kPage}, count(&GroupRow::nan), has_specials},
       {{"Inf", Kind::kFigure, Room::kPage}, count(&GroupRow::inf), has_specials}});
  part.legend.push_back("share: of the row's own elements; full bar: the largest share, " +
                        choice.Share(largest->elements_changed, largest->elements));
  if (view.report.subject == StatsSubject::kDelta) {
    part.legend.emplace_back("a delta without its base knows only the tensors it touches; no others are counted");
  }
  if (has_rows || has_experts) {
    part.legend.push_back(std::string("idle: no element of it changed") +
                          (has_rows ? "; a row is a run of the last dimension" : ""));
  }
  return part;
}

StatsPart RecordsPart(const StatsReport& report, const PartChoice& choice) {
  if (report.records.empty()) return {};
  const RecordSummary summary = SummaryOf(report.records);
  const double most_share = summary.most_share ? ShareOf(summary.most_share->info) : 0;
  const uint64_t most_bytes = summary.most_bytes ? *summary.most_bytes->info.delta_bytes : 0;
  const bool has_steps = std::ranges::any_of(report.records, [](auto& record) { return record.info.step.has_value(); });
  const bool is_history = report.subject == StatsSubject::kHistory;
  // Of a long history the newest are wanted first.
  std::span<const StatsRecord> records(report.records);
  const bool more_before = is_history && choice.top != 0 && records.size() > choice.top;
  if (more_before) records = records.last(choice.top);

  StatsPart part = TablePart<StatsRecord>(
      is_history ? "by record" : "by delta", records, choice,
      {{{is_history ? "number" : "delta", is_history ? Kind::kFigure : Kind::kName},
        [](auto& record) { return record.name; }},
       {{"step", Kind::kFigure},
        [](auto& record) { return record.info.step ? std::to_string(*record.info.step) : "-"; },
        has_steps},
       {{"changed", Kind::kFigure}, [&](auto& record) { return ShareText(record.info, choice); }},
       {{"", Kind::kBar}, [&](auto& record) { return most_share > 0 ? ShareOf(record.info) / most_share : 0; }},
       {{"bytes", Kind::kFigure},
        [](auto& record) { return Grouped(record.info.delta_bytes.value_or(record.info.anchor_bytes.value_or(0))); }},
       // Paths of deltas need the room of the second bar.
       {{"", Kind::kBar, is_history ? Room::kAlways : Room::kWide},
        [&](auto& record) { return PartOf(record.info.delta_bytes.value_or(0), most_bytes); }},
       {{"ratio", Kind::kFigure},
        [](auto& record) { return RatioText(record.info.totals.bytes_total, record.info.delta_bytes); }},
       {{"elements", Kind::kFigure, Room::kPage},
        [](auto& record) { return Grouped(record.info.totals.elements_total); }},
       {{"elements changed", Kind::kFigure, Room::kPage},
        [](auto& record) { return record.info.delta_bytes ? Grouped(record.info.totals.elements_changed) : "all"; }},
       {{"anchor bytes", Kind::kFigure, Room::kPage},
        [](auto& record) { return record.info.anchor_bytes ? Grouped(*record.info.anchor_bytes) : "-"; }}});
  part.more = report.records.size() - part.rows.size();
  part.more_before = more_before;
  part.legend.emplace_back("changed: of all elements; full bars: the largest share, the most bytes");
  part.legend.emplace_back("ratio: bytes of all tensors / bytes of the delta");
  return part;
}

StatsPart RecordSummaryPart(const StatsReport& report, const PartChoice& choice) {
  StatsPart part;
  const RecordSummary summary = SummaryOf(report.records);
  if (summary.deltas < 2) return part;
  part.title = "over " + Counted(summary.deltas, "delta");
  part.columns = {{"", Kind::kWord}, {"changed", Kind::kFigure}, {"bytes", Kind::kFigure}, {"ratio", Kind::kFigure}};
  const auto extreme = [&](const char* word, const StatsRecord* by_share, const StatsRecord* by_bytes) {
    part.rows.push_back({word, by_share ? ShareText(by_share->info, choice) : "-", Grouped(*by_bytes->info.delta_bytes),
                         RatioText(by_bytes->info.totals.bytes_total, by_bytes->info.delta_bytes)});
  };
  extreme("min", summary.least_share, summary.least_bytes);
  part.rows.push_back({"mean", choice.Share(summary.elements_changed, summary.elements_total),
                       Grouped((summary.delta_bytes + summary.deltas / 2) / summary.deltas),
                       RatioText(summary.bytes_total, summary.delta_bytes)});
  extreme("max", summary.most_share, summary.most_bytes);
  part.rows.push_back({"sum", "", Grouped(summary.delta_bytes), ""});
  return part;
}

}  // namespace wdelta
