// The rows of a view: tensors, layers, modules, types, or the records of a history.
#include <algorithm>
#include <unordered_map>

#include "numbers.h"
#include "stats/stats_parts.h"
#include "stats/stats_words.h"

namespace wdelta {

namespace {

using Kind = PartColumn::Kind;

std::string CountText(uint64_t number, const PartChoice& choice) {
  return choice.short_counts ? ShortCount(number) : Grouped(number);
}

double LargestShare(const std::vector<GroupRow>& rows) {
  double largest = 0;
  for (const GroupRow& row : rows) largest = std::max(largest, PartOf(row.elements_changed, row.elements));
  return largest;
}

// "1.23 %", worded as the column of shares words it.
std::string LargestShareText(const std::vector<GroupRow>& rows) {
  const auto largest = std::max_element(rows.begin(), rows.end(), [](const GroupRow& a, const GroupRow& b) {
    return PartOf(a.elements_changed, a.elements) < PartOf(b.elements_changed, b.elements);
  });
  return Percent(largest->elements_changed, largest->elements);
}

std::string UntouchedText(uint64_t total, uint64_t touched) {
  return total == 0 ? "" : Percent(total - std::min(touched, total), total);
}

// Which columns tell something here.
struct RowColumns {
  bool is_tensor, has_rows, has_experts;
  explicit RowColumns(const StatsView& view) : is_tensor(view.by == "tensor") {
    const auto any = [&](uint64_t GroupRow::*figure) {
      return std::any_of(view.rows.begin(), view.rows.end(), [&](const GroupRow& row) { return row.*figure > 0; });
    };
    has_rows = view.report.has_tallies() && any(&GroupRow::rows_total);
    has_experts = any(&GroupRow::experts_total);
  }

  std::vector<PartColumn> Titles(const std::string& by) const {
    std::vector<PartColumn> columns = {{is_tensor ? "name" : by, Kind::kName}};
    if (is_tensor) {
      columns.push_back({"dtype", Kind::kName, true});
      columns.push_back({"shape", Kind::kWord, true});
    } else {
      columns.push_back({"tensors", Kind::kFigure, true});
      columns.push_back({"changed", Kind::kFigure, true});
    }
    columns.push_back({"elements", Kind::kFigure, has_experts});
    columns.push_back({"changed", Kind::kFigure});
    columns.push_back({"share", Kind::kFigure});
    columns.push_back({"", Kind::kBar});
    if (has_rows) columns.push_back({"idle rows", Kind::kFigure, is_tensor});
    if (has_experts) columns.push_back({"idle experts", Kind::kFigure});
    return columns;
  }
};

}  // namespace

StatsPart RowsPart(const StatsView& view, const PartChoice& choice) {
  StatsPart part;
  const double largest = LargestShare(view.rows);
  if (largest == 0) return part;  // a table of zeros tells nothing that the totals have not
  const RowColumns chosen(view);
  std::unordered_map<std::string_view, const TensorStats*> tensors;
  if (chosen.is_tensor) {
    for (const TensorStats& tensor : view.report.tensors) tensors.emplace(tensor.name, &tensor);
  }
  part.title = "by " + view.by;
  part.columns = chosen.Titles(view.by);
  for (const GroupRow& row : view.rows) {
    if (choice.top != 0 && part.rows.size() == choice.top) {
      part.more = view.rows.size() - part.rows.size();
      break;
    }
    std::vector<PartCell> cells = {row.name};
    if (chosen.is_tensor) {
      const auto found = tensors.find(row.name);
      const bool has_form = found != tensors.end() && !found->second->dtype.empty();
      cells.emplace_back(has_form ? found->second->dtype : "");
      cells.emplace_back(has_form ? ShapeText(found->second->shape) : "");
    } else {
      cells.emplace_back(CountText(row.tensors, choice));
      cells.emplace_back(CountText(row.tensors_changed, choice));
    }
    cells.emplace_back(CountText(row.elements, choice));
    cells.emplace_back(CountText(row.elements_changed, choice));
    cells.emplace_back(Percent(row.elements_changed, row.elements));
    cells.push_back(PartCell::Bar(PartOf(row.elements_changed, row.elements) / largest));
    if (chosen.has_rows) cells.emplace_back(UntouchedText(row.rows_total, row.rows_touched));
    if (chosen.has_experts) {
      cells.emplace_back(row.experts_total == 0
                             ? ""
                             : Grouped(row.experts_total - row.experts_touched) + " of " + Grouped(row.experts_total));
    }
    part.rows.push_back(std::move(cells));
  }
  part.legend.push_back("share: of the row's own elements; full bar: the largest share, " +
                        LargestShareText(view.rows));
  if (view.report.subject == StatsSubject::kDelta) {
    part.legend.emplace_back("a delta without its base knows only the tensors it touches; no others are counted");
  }
  if (chosen.has_rows || chosen.has_experts) {
    part.legend.push_back(std::string("idle: no element of it changed") +
                          (chosen.has_rows ? "; a row is a run of the last dimension" : ""));
  }
  return part;
}

namespace {

// A record without a delta is an anchor: a whole model, not a change.
std::string RecordShare(const RecordInfo& info) {
  if (!info.delta_bytes) return "anchor";
  return Percent(info.totals.elements_changed, info.totals.elements_total);
}

}  // namespace

StatsPart RecordsPart(const StatsReport& report, const PartChoice& choice) {
  StatsPart part;
  if (report.records.empty()) return part;
  const RecordSummary summary = SummaryOf(report.records);
  const auto share = [](const RecordInfo& info) {
    return info.delta_bytes ? PartOf(info.totals.elements_changed, info.totals.elements_total) : 0;
  };
  const double most_share = summary.most_share ? share(summary.most_share->info) : 0;
  const uint64_t most_bytes = summary.most_bytes ? *summary.most_bytes->info.delta_bytes : 0;
  const bool has_steps = std::any_of(report.records.begin(), report.records.end(),
                                     [](const StatsRecord& record) { return record.info.step.has_value(); });
  const bool is_history = report.subject == StatsSubject::kHistory;
  part.title = is_history ? "by record" : "by delta";
  part.columns = {{is_history ? "number" : "delta", is_history ? Kind::kFigure : Kind::kName}};
  if (has_steps) part.columns.push_back({"step", Kind::kFigure});
  // Paths of deltas need the room.
  part.columns.insert(part.columns.end(), {{"changed", Kind::kFigure},
                                           {"", Kind::kBar},
                                           {"bytes", Kind::kFigure},
                                           {"", Kind::kBar, !is_history},
                                           {"ratio", Kind::kFigure}});
  // Of a long history the newest are wanted first.
  const size_t count = report.records.size();
  if (choice.top != 0 && count > choice.top) {
    part.more = count - choice.top;
    part.more_before = is_history;
  }
  const size_t begin = part.more_before ? part.more : 0, end = part.more_before ? count : count - part.more;
  for (size_t i = begin; i < end; ++i) {
    const StatsRecord& record = report.records[i];
    const RecordInfo& info = record.info;
    std::vector<PartCell> cells = {record.name};
    if (has_steps) cells.emplace_back(info.step ? std::to_string(*info.step) : "-");
    cells.emplace_back(RecordShare(info));
    cells.push_back(PartCell::Bar(most_share > 0 ? share(info) / most_share : 0));
    cells.emplace_back(Grouped(info.delta_bytes.value_or(info.anchor_bytes.value_or(0))));
    cells.push_back(PartCell::Bar(PartOf(info.delta_bytes.value_or(0), most_bytes)));
    cells.emplace_back(RatioText(info.totals.bytes_total, info.delta_bytes));
    part.rows.push_back(std::move(cells));
  }
  part.legend.emplace_back("changed: of all elements; full bars: the largest share, the most bytes");
  part.legend.emplace_back("ratio: bytes of all tensors / bytes of the delta");
  return part;
}

StatsPart RecordSummaryPart(const StatsReport& report) {
  StatsPart part;
  const RecordSummary summary = SummaryOf(report.records);
  if (summary.deltas < 2) return part;
  part.title = "over " + Counted(summary.deltas, "delta");
  part.columns = {{"", Kind::kWord}, {"changed", Kind::kFigure}, {"bytes", Kind::kFigure}, {"ratio", Kind::kFigure}};
  const auto extreme = [&](const char* word, const StatsRecord* by_share, const StatsRecord* by_bytes) {
    part.rows.push_back({word, by_share ? RecordShare(by_share->info) : "-", Grouped(*by_bytes->info.delta_bytes),
                         RatioText(by_bytes->info.totals.bytes_total, by_bytes->info.delta_bytes)});
  };
  extreme("min", summary.least_share, summary.least_bytes);
  part.rows.push_back({"mean", Percent(summary.elements_changed, summary.elements_total),
                       Grouped((summary.delta_bytes + summary.deltas / 2) / summary.deltas),
                       RatioText(summary.bytes_total, summary.delta_bytes)});
  extreme("max", summary.most_share, summary.most_bytes);
  part.rows.push_back({"sum", "", Grouped(summary.delta_bytes), ""});
  return part;
}

}  // namespace wdelta
