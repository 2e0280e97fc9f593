// What both sides of a checkpoint, read in full, tell about its weights.
#include <cmath>

#include "stats/stats_parts.h"

namespace wdelta {

namespace {

constexpr uint64_t kTailPart = 1000;  // a tail is folded while it holds less than one of so many

// How many rows at the front hold hardly anything together. A single one is not worth a word for several.
template <class Iterator, class Count>
size_t TailLength(Iterator begin, Iterator end, uint64_t total, const Count& count) {
  uint64_t held = 0;
  size_t length = 0;
  for (; begin != end; ++begin, ++length) {
    held += count(*begin);
    if (held > total / kTailPart) break;
  }
  return length < 2 ? 0 : length;
}

std::string PowerText(int exponent) {
  return "2^" + std::to_string(exponent);
}

// "model.embed_tokens.weight[17, 405]": where it is, in the words of any array library.
std::string PlaceText(const TensorStats& tensor) {
  std::vector<uint64_t> at(tensor.shape.size());
  uint64_t rest = tensor.tally->largest_at;
  for (size_t i = at.size(); i-- > 0;) {
    const uint64_t size = std::max<uint64_t>(tensor.shape[i], 1);
    at[i] = rest % size;
    rest /= size;
  }
  return tensor.name + ShapeText(at);
}

}  // namespace

StatsPart ExponentPart(const ExponentTable& table, const PartChoice& choice) {
  const auto count = [](const ExponentRow& row) { return row.elements; };
  uint64_t total = table.tiny.elements + table.special.elements, changed = table.tiny.elements_changed;
  for (const ExponentRow& row : table.rows) {
    total += row.elements;
    changed += row.elements_changed;
  }
  if (changed + table.special.elements_changed == 0) return {};
  const auto& rows = table.rows;
  const size_t low = TailLength(rows.begin(), rows.end(), total, count);
  const size_t high = low == rows.size() ? 0 : TailLength(rows.rbegin(), rows.rend() - low, total, count);

  struct LabelledRow : ExponentRow {
    std::string label;
  };
  std::vector<LabelledRow> shown;
  const auto add = [&](const std::string& label, size_t begin, size_t end) {
    LabelledRow sum{{}, label};
    for (size_t i = begin; i < end; ++i) {
      sum.elements += rows[i].elements;
      sum.elements_changed += rows[i].elements_changed;
    }
    if (sum.elements > 0) shown.push_back(sum);
  };
  if (table.tiny.elements > 0) shown.push_back({table.tiny, "0, subnormal"});
  if (low > 0) add("below " + PowerText(rows[low - 1].exponent + 1), 0, low);
  for (size_t i = low; i < rows.size() - high; ++i) add(PowerText(rows[i].exponent), i, i + 1);
  if (high > 0) add(PowerText(rows[rows.size() - high].exponent) + " and up", rows.size() - high, rows.size());
  if (table.special.elements > 0) shown.push_back({table.special, "Inf, NaN"});

  const auto share = [](const LabelledRow& row) { return PartOf(row.elements_changed, row.elements); };
  double largest = 0;
  for (const LabelledRow& row : shown) largest = std::max(largest, share(row));
  return TablePart<LabelledRow>(
      "by exponent, " + table.dtype, shown, choice.WithAllRows(),
      {{{"from", Kind::kFigure}, [](auto& row) { return row.label; }},
       {{"elements", Kind::kFigure}, [&](auto& row) { return choice.Count(row.elements); }},
       {{"of all", Kind::kFigure}, [&](auto& row) { return Percent(row.elements, total); }},
       {{"changed", Kind::kFigure}, [&](auto& row) { return choice.Count(row.elements_changed); }},
       // Shares by exponent differ by orders of magnitude, and that is the point of this table.
       {{"share", Kind::kFigure}, [](auto& row) { return Percent(row.elements_changed, row.elements, kFineDigits); }},
       {{"", Kind::kBar}, [&](auto& row) { return share(row) / largest; }}},
      "from 2^e: weights of the base with 2^e <= abs(w) < 2^(e+1)");
}

StatsPart StepPart(const std::vector<StepRow>& steps, const PartChoice& choice) {
  uint64_t total = 0, largest = 0;
  const auto count = [](const StepRow& row) { return row.down + row.up; };
  for (const StepRow& row : steps) total += count(row);
  if (total == 0) return {};
  const size_t high = TailLength(steps.rbegin(), steps.rend(), total, count);
  const auto tail = steps.end() - static_cast<std::ptrdiff_t>(high);
  const auto first = std::find_if(steps.begin(), tail, [&](const StepRow& row) { return count(row) > 0; });
  std::vector<StepRow> shown(first, tail);
  if (high > 0) {
    StepRow rest{tail->least, 0, 0, 0};
    for (auto row = tail; row != steps.end(); ++row) {
      rest.down += row->down;
      rest.up += row->up;
    }
    if (count(rest) > 0) shown.push_back(rest);
  }
  for (const StepRow& row : shown) largest = std::max({largest, row.down, row.up});
  const auto label = [](const StepRow& row) {
    const std::string least = std::to_string(row.least);
    if (row.most == 0) return least + " and more";
    return row.most == row.least ? least : least + "-" + std::to_string(row.most);
  };
  return TablePart<StepRow>("by steps", shown, choice.WithAllRows(),
                            {{{"steps", Kind::kFigure}, label},
                             {{"down", Kind::kFigure}, [&](auto& row) { return choice.Count(row.down); }},
                             {{"", Kind::kBar}, [&](auto& row) { return PartOf(row.down, largest); }},
                             {{"up", Kind::kFigure}, [&](auto& row) { return choice.Count(row.up); }},
                             {{"", Kind::kBar}, [&](auto& row) { return PartOf(row.up, largest); }},
                             {{"share", Kind::kFigure}, [&](auto& row) { return choice.Share(count(row), total); }}},
                            "from one representable number to the next; share: of the changed elements");
}

StatsPart MoversPart(const StatsReport& report, const PartChoice& choice) {
  std::vector<const TensorStats*> movers;
  double largest = 0;
  for (const size_t index : report.movers) {
    const TensorStats& tensor = report.tensors[index];
    if (!tensor.tally || tensor.tally->largest_change == 0) continue;
    movers.push_back(&tensor);
    largest = std::max(largest, std::abs(tensor.tally->largest_change));
  }
  return TablePart<const TensorStats*>(
      "largest movers", movers, choice.WithAllRows(),
      {{{"element", Kind::kName}, [](auto& tensor) { return PlaceText(*tensor); }},
       {{"before", Kind::kFigure}, [](auto& tensor) { return RealText(tensor->tally->largest_before); }},
       {{"after", Kind::kFigure}, [](auto& tensor) { return RealText(tensor->tally->largest_after); }},
       {{"change", Kind::kFigure, Room::kWide}, [](auto& tensor) { return RealText(tensor->tally->largest_change); }},
       {{"", Kind::kBar, Room::kPage},
        [&](auto& tensor) { return std::abs(tensor->tally->largest_change) / largest; }}},
      "the element of a tensor whose number changed most");
}

}  // namespace wdelta
