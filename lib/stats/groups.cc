// What the reports of the public face are made of.
#include <map>
#include <tuple>

#include "stats_report.h"

namespace wdelta {

std::string_view ChangeName(ChangeKind kind) {
  static constexpr std::string_view kNames[] = {"same", "changed", "added", "removed", "reshaped", "retyped"};
  return kNames[static_cast<size_t>(kind)];
}

namespace {

std::string GroupName(const TensorChange& tensor, const TensorPlace& place, GroupBy by) {
  if (by == GroupBy::kLayer) return place.layer_name;
  if (by == GroupBy::kModule) return place.module;
  if (by == GroupBy::kDtype) return tensor.dtype.empty() ? tensor.old_dtype : tensor.dtype;
  if (by == GroupBy::kShard) return tensor.shard;
  return by == GroupBy::kWhole ? "all" : tensor.name;
}

// Sums up tensors, and knows which experts were seen: an expert has several tensors, and is untouched if all of them
// are.
class Grouping {
 public:
  explicit Grouping(GroupBy by) : by_(by) {}

  void Add(const TensorChange& tensor, const TensorPlace& place, const TensorTally* tally) {
    const auto [at, is_new] = row_of_.emplace(GroupName(tensor, place, by_), rows_.size());
    if (is_new) rows_.push_back({at->first});
    GroupRow& row = rows_[at->second];
    row.tensors += 1;
    row.tensors_changed += tensor.kind != ChangeKind::kSame;
    row.elements += tensor.kind == ChangeKind::kRemoved ? 0 : tensor.elements;
    row.elements_changed += tensor.elements_changed;
    if (tally) {
      row.rows_total += tally->rows_total;
      row.rows_touched += tally->rows_touched;
      row.nan += tally->nan;
      row.inf += tally->inf;
      for (size_t i = 0; i < tally->expert_touched.size(); ++i) {
        AddExpert(at->second, place.layer_name, i, tally->expert_touched[i]);
      }
    }
    if (place.expert && tensor.kind != ChangeKind::kRemoved) {
      AddExpert(at->second, place.layer_name, *place.expert, tensor.elements_changed > 0);
    }
  }
  std::vector<GroupRow> TakeRows() { return std::move(rows_); }

 private:
  void AddExpert(size_t row, const std::string& layer, uint64_t number, bool touched) {
    const auto [expert, is_new] = experts_.emplace(std::tuple(row, layer, number), false);
    rows_[row].experts_total += is_new;
    rows_[row].experts_touched += touched && !expert->second;
    expert->second |= touched;
  }

  GroupBy by_;
  std::vector<GroupRow> rows_;
  std::map<std::string, size_t> row_of_;
  std::map<std::tuple<size_t, std::string, uint64_t>, bool> experts_;  // row, layer, number: was it touched?
};

}  // namespace

std::vector<GroupRow> Group(const std::vector<TensorChange>& tensors, GroupBy by) {
  Grouping grouping(by);
  for (const TensorChange& tensor : tensors) grouping.Add(tensor, PlaceOf(tensor.name), nullptr);
  return grouping.TakeRows();
}

std::vector<GroupRow> Group(const std::vector<TensorStats>& tensors, GroupBy by) {
  Grouping grouping(by);
  for (const TensorStats& tensor : tensors) grouping.Add(tensor, tensor.place, tensor.tally ? &*tensor.tally : nullptr);
  return grouping.TakeRows();
}

}  // namespace wdelta
