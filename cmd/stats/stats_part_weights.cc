// What both sides of a checkpoint, read in full, tell about its weights.
#include <algorithm>
#include <cstdlib>

#include "numbers.h"
#include "stats/stats_parts.h"
#include "stats/stats_words.h"

namespace wdelta {

namespace {

using Kind = PartColumn::Kind;

constexpr uint64_t kTailPart = 1000;  // a tail is folded while it holds less than one of so many

std::string CountText(uint64_t number, const PartChoice& choice) {
  return choice.short_counts ? ShortCount(number) : Grouped(number);
}

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
  StatsPart part;
  const auto count = [](const ExponentRow& row) { return row.elements; };
  uint64_t total = table.tiny.elements + table.special.elements, changed = table.tiny.elements_changed;
  for (const ExponentRow& row : table.rows) {
    total += row.elements;
    changed += row.elements_changed;
  }
  if (changed + table.special.elements_changed == 0) return part;
  const auto& rows = table.rows;
  const size_t low = TailLength(rows.begin(), rows.end(), total, count);
  const size_t high = low == rows.size() ? 0 : TailLength(rows.rbegin(), rows.rend() - low, total, count);

  std::vector<std::pair<std::string, ExponentRow>> shown;
  const auto add = [&](const std::string& label, size_t begin, size_t end) {
    ExponentRow sum;
    for (size_t i = begin; i < end; ++i) {
      sum.elements += rows[i].elements;
      sum.elements_changed += rows[i].elements_changed;
    }
    if (sum.elements > 0) shown.emplace_back(label, sum);
  };
  if (table.tiny.elements > 0) shown.emplace_back("0, subnormal", table.tiny);
  if (low > 0) add("below " + PowerText(rows[low - 1].exponent + 1), 0, low);
  for (size_t i = low; i < rows.size() - high; ++i) add(PowerText(rows[i].exponent), i, i + 1);
  if (high > 0) add(PowerText(rows[rows.size() - high].exponent) + " and up", rows.size() - high, rows.size());
  if (table.special.elements > 0) shown.emplace_back("Inf, NaN", table.special);

  double largest = 0;
  for (const auto& [label, row] : shown) largest = std::max(largest, PartOf(row.elements_changed, row.elements));
  part.title = "by exponent, " + table.dtype;
  part.explanation = "from 2^e: weights of the base with 2^e <= abs(w) < 2^(e+1)";
  part.columns = {{"from", Kind::kFigure},    {"elements", Kind::kFigure}, {"of all", Kind::kFigure},
                  {"changed", Kind::kFigure}, {"share", Kind::kFigure},    {"", Kind::kBar}};
  for (const auto& [label, row] : shown) {
    const double share = PartOf(row.elements_changed, row.elements);
    part.rows.push_back({label, CountText(row.elements, choice), Percent(row.elements, total),
                         CountText(row.elements_changed, choice), FinePercent(row.elements_changed, row.elements),
                         PartCell::Bar(share / largest)});
  }
  return part;
}

StatsPart StepPart(const std::vector<StepRow>& steps, const PartChoice& choice) {
  StatsPart part;
  uint64_t total = 0, largest = 0;
  const auto count = [](const StepRow& row) { return row.down + row.up; };
  for (const StepRow& row : steps) total += count(row);
  if (total == 0) return part;
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
  part.title = "by steps";
  part.explanation = "from one representable number to the next; share: of the changed elements";
  part.columns = {{"steps", Kind::kFigure}, {"down", Kind::kFigure}, {"", Kind::kBar},
                  {"up", Kind::kFigure},    {"", Kind::kBar},        {"share", Kind::kFigure}};
  for (const StepRow& row : shown) {
    const std::string label = row.most == 0           ? std::to_string(row.least) + " and more"
                              : row.most == row.least ? std::to_string(row.least)
                                                      : std::to_string(row.least) + "-" + std::to_string(row.most);
    part.rows.push_back({label, CountText(row.down, choice), PartCell::Bar(PartOf(row.down, largest)),
                         CountText(row.up, choice), PartCell::Bar(PartOf(row.up, largest)),
                         Percent(count(row), total)});
  }
  return part;
}

StatsPart UntouchedPart(const StatsReport& report) {
  StatsPart part;
  const auto tell = [&](const char* what, uint64_t total, uint64_t touched) {
    if (total == 0) return;
    const uint64_t untouched = total - std::min(touched, total);
    part.sentences.push_back(std::string(what) + " untouched: " + Grouped(untouched) + " of " + Grouped(total) + " (" +
                             Percent(untouched, total) + ")");
  };
  if (HasDifference(report)) {
    tell("rows", report.whole.rows_total, report.whole.rows_touched);
    tell("experts", report.whole.experts_total, report.whole.experts_touched);
  }
  const auto tell_special = [&](const char* what, uint64_t now, uint64_t before) {
    if (now == 0 && before == 0) return;
    part.sentences.push_back(std::string(what) + ": " + Grouped(now) + ", in the base " + Grouped(before));
  };
  tell_special("NaN", report.nan, report.base_nan);
  tell_special("Inf", report.inf, report.base_inf);
  return part;
}

StatsPart MoversPart(const StatsReport& report) {
  StatsPart part;
  part.title = "largest movers";
  part.explanation = "the element of a tensor whose number changed most";
  part.columns = {
      {"element", Kind::kName}, {"before", Kind::kFigure}, {"after", Kind::kFigure}, {"change", Kind::kFigure, true}};
  for (const size_t index : report.movers) {
    const TensorStats& tensor = report.tensors[index];
    if (!tensor.tally || tensor.tally->largest_change == 0) continue;
    const TensorTally& tally = *tensor.tally;
    const std::string change = RealText(tally.largest_change);
    part.rows.push_back({PlaceText(tensor), RealText(tally.largest_before), RealText(tally.largest_after), change});
  }
  return part;
}

}  // namespace wdelta
