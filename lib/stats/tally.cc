#include "stats/tally.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/processor.h"

namespace wdelta {

void TallyTotals::Add(const TallyTotals& other) {
  const auto add = [](std::vector<uint64_t>& sum, const std::vector<uint64_t>& more) {
    if (sum.size() < more.size()) sum.resize(more.size());
    for (size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
  };
  for (size_t i = 0; i < exponents.size(); ++i) {
    add(exponents[i].elements, other.exponents[i].elements);
    add(exponents[i].changed, other.exponents[i].changed);
  }
  for (size_t i = 0; i < steps[kUp].size(); ++i) {
    steps[kUp][i] += other.steps[kUp][i];
    steps[kDown][i] += other.steps[kDown][i];
  }
}

void TouchedRuns::Touch(uint64_t run) {
  if (count == 0) first = run;
  if (count == 0 || run != last) ++count;
  last = run;
}

void TouchedRuns::Append(const TouchedRuns& follows) {
  if (follows.count == 0) return;
  const bool shared = count > 0 && last == follows.first;
  if (count == 0) first = follows.first;
  count += follows.count - (shared ? 1 : 0);
  last = follows.last;
}

void BlockTally::Append(const BlockTally& follows) {
  units_changed += follows.units_changed;
  nan += follows.nan;
  inf += follows.inf;
  base_nan += follows.base_nan;
  base_inf += follows.base_inf;
  rows.Append(follows.rows);
  for (const uint32_t slice : follows.slices) {
    if (slices.empty() || slices.back() != slice) slices.push_back(slice);
  }
  if (follows.largest_change > largest_change) {
    largest_change = follows.largest_change;
    largest_before = follows.largest_before;
    largest_after = follows.largest_after;
    largest_at = follows.largest_at;
  }
  squared_change += follows.squared_change;
}

namespace {

// Counts the elements of a block by a field of theirs. Neighbours are counted in different tables, because they often
// have the same exponent, and a count must be in memory before it can be raised again.
constexpr size_t kTables = 8;

template <class T>
void CountFields(ByteSpan block, unsigned shift, uint64_t mask, uint32_t* tables) {
  constexpr size_t kLanes = 8 / sizeof(T), kWords = kTables / kLanes;
  const size_t stride = mask + 1;
  size_t at = 0;
  for (; at + 8 * kWords <= block.size(); at += 8 * kWords) {
    for (size_t w = 0; w < kWords; ++w) {
      const auto word = Load<uint64_t>(block.data() + at + 8 * w);
      for (size_t lane = 0; lane < kLanes; ++lane) {
        ++tables[(w * kLanes + lane) * stride + (word >> (lane * 8 * sizeof(T) + shift) & mask)];
      }
    }
  }
  for (; at < block.size(); at += sizeof(T)) {
    ++tables[uint64_t{Load<T>(block.data() + at)} >> shift & mask];
  }
}

// Into counts[0] to counts[mask].
void CountByField(ByteSpan block, unsigned unit, unsigned shift, uint64_t mask, std::vector<uint32_t>& counts) {
  const size_t stride = mask + 1;
  counts.assign(kTables * stride, 0);
  WithUnit(unit, [&]<class T>(T) { CountFields<T>(block, shift, mask, counts.data()); });
  for (size_t table = 1; table < kTables; ++table) {
    for (size_t i = 0; i < stride; ++i) counts[i] += counts[table * stride + i];
  }
}

// Whether a block with these counts by exponent may hold a NaN or an infinity.
bool MayHoldSpecials(const FloatForm& form, const std::vector<uint32_t>& counts) {
  return counts[form.special == FloatForm::Special::kMinusZero ? 0 : form.exponent_mask()] != 0;
}

void AddSpecials(ByteSpan block, unsigned unit, const FloatForm& form, uint64_t& nan, uint64_t& inf) {
  WithUnit(unit, [&]<class T>(T) {
    for (size_t at = 0; at < block.size(); at += sizeof(T)) {
      const uint64_t pattern = Load<T>(block.data() + at);
      nan += form.IsNan(pattern);
      inf += form.IsInf(pattern);
    }
  });
}

// How many numbers further `after` is, without a branch: weights go up and down in no order that could be foreseen.
// From plus to minus zero is no way at all, but the bits differ: it counts as one.
struct Step {
  bool down = false;
  uint64_t distance = 0;
};
inline Step StepBetween(uint64_t before, uint64_t after, const FloatForm& form) {
  const uint64_t sign = form.SignBit(), a = before & (sign - 1), b = after & (sign - 1);
  const bool from_minus = (before & sign) != 0, to_minus = (after & sign) != 0;
  const uint64_t apart = from_minus == to_minus ? std::max(a, b) - std::min(a, b) : a + b;
  return {from_minus == to_minus ? (b < a) != from_minus : to_minus, apart + (apart == 0)};
}

// What changes tell where they sit. Positions rise.
void CountPlaces(const TallyPiece& piece, const std::vector<uint32_t>& positions, BlockTally& out) {
  uint64_t row_end = 0, slice_end = 0;
  for (const uint32_t position : positions) {
    const uint64_t at = piece.first_unit + position;
    if (at >= row_end) {
      out.rows.Touch(at / piece.columns);
      row_end = (at / piece.columns + 1) * piece.columns;
    }
    if (piece.slice != 0 && at >= slice_end) {
      out.slices.push_back(static_cast<uint32_t>(at / piece.slice));
      slice_end = (at / piece.slice + 1) * piece.slice;
    }
  }
}

// What changes tell as numbers. Inlined, so that a form that is known when this is compiled costs nothing to ask.
template <class T>
[[gnu::always_inline]] inline void CountNumbers(const TallyPiece& piece, const FloatForm& form,
                                                const std::vector<uint32_t>& positions, TallyTotals& totals,
                                                BlockTally& out) {
  uint64_t* const exponents = totals.exponents[static_cast<size_t>(piece.dtype)].changed.data();
  double squared = 0, largest = 0;
  uint32_t largest_position = 0;
  for (const uint32_t position : positions) {
    const uint64_t before = Load<T>(piece.old_block.data() + position * sizeof(T));
    const uint64_t after = Load<T>(piece.new_block.data() + position * sizeof(T));
    ++exponents[form.ExponentField(before)];
    if (form.MayBeSpecial(before) || form.MayBeSpecial(after)) {
      const bool old_nan = form.IsNan(before), old_inf = form.IsInf(before);
      const bool new_nan = form.IsNan(after), new_inf = form.IsInf(after);
      out.nan += static_cast<uint64_t>(new_nan) - static_cast<uint64_t>(old_nan);
      out.inf += static_cast<uint64_t>(new_inf) - static_cast<uint64_t>(old_inf);
      if (old_nan || old_inf || new_nan || new_inf) continue;
    }
    const Step step = StepBetween(before, after, form);
    ++totals.steps[step.down][static_cast<size_t>(std::bit_width(step.distance - 1))];
    const double change = std::abs(form.Value(after) - form.Value(before));
    squared += change * change;
    if (change <= largest) continue;
    largest = change;
    largest_position = position;
  }
  out.squared_change = squared;
  if (largest == 0) return;
  out.largest_change = largest;
  out.largest_before = form.Value(Load<T>(piece.old_block.data() + largest_position * sizeof(T)));
  out.largest_after = form.Value(Load<T>(piece.new_block.data() + largest_position * sizeof(T)));
  out.largest_at = piece.first_unit + largest_position;
}

// Nearly all weights are of this type, so it has a copy of its own; left to itself, the compiler merges it with the
// others.
[[gnu::noinline]] void CountBf16(const TallyPiece& piece, const std::vector<uint32_t>& positions, TallyTotals& totals,
                                 BlockTally& out) {
  CountNumbers<uint16_t>(piece, FloatForm{8, 7, 127, FloatForm::Special::kIeee}, positions, totals, out);
}

}  // namespace

// What the counts by exponent of an old piece tell.
void Tally::AddExponents(const TallyPiece& piece, const FloatForm& form, BlockTally& out) {
  TallyTotals::ByExponent& sums = totals_.exponents[static_cast<size_t>(piece.dtype)];
  sums.elements.resize(form.exponent_mask() + 1);
  sums.changed.resize(form.exponent_mask() + 1);
  for (size_t i = 0; i < sums.elements.size(); ++i) sums.elements[i] += scan_.exponents[i];
  if (!MayHoldSpecials(form, scan_.exponents)) return;
  AddSpecials(piece.old_block, UnitBytes(piece.dtype), form, out.base_nan, out.base_inf);
  out.nan += out.base_nan;
  out.inf += out.base_inf;
}

// Lists what changed, and counts the old elements by exponent on the way. Both forms fill changes_.positions and, if
// there is a form, scan_.exponents.
void Tally::ScanPortably(const TallyPiece& piece, const std::optional<FloatForm>& form) {
  const unsigned unit = UnitBytes(piece.dtype);
  if (form) CountByField(piece.old_block, unit, form->mantissa_bits, form->exponent_mask(), scan_.exponents);
  ListChanges(piece.old_block, piece.new_block, unit, changes_);
}

void Tally::ScanFast(const TallyPiece& piece, const FloatForm& form) {
  const uint8_t *old_bytes = piece.old_block.data(), *new_bytes = piece.new_block.data();
  const size_t scanned = piece.old_block.size() / kScanGroup * kScanGroup;
  std::optional<unsigned>& window = windows_[static_cast<size_t>(piece.dtype)];
  if (!window) window = std::max(form.bias - static_cast<int>(kScanWindow) + 1, 0);  // weights are mostly below 1
  scan_.exponents.assign(form.exponent_mask() + 1, 0);
  ScanByAvx2(old_bytes, new_bytes, scanned, form, *window, scan_);
  window = BestWindow(scan_.exponents);
  ListBits(scan_.changed, changes_.positions);
  for (size_t at = scanned; at < piece.old_block.size(); at += sizeof(uint16_t)) {
    const auto before = Load<uint16_t>(old_bytes + at);
    ++scan_.exponents[form.ExponentField(before)];
    if (before == Load<uint16_t>(new_bytes + at)) continue;
    changes_.positions.push_back(static_cast<uint32_t>(at / sizeof(uint16_t)));
  }
}

BlockTally Tally::Count(const TallyPiece& piece) {
  BlockTally out;
  const unsigned unit = UnitBytes(piece.dtype);
  const std::optional<FloatForm> form = FloatFormOf(piece.dtype);
  if (piece.old_block.empty()) {  // all of it is new
    out.units_changed = piece.new_block.size() / unit;
    if (form) AddSpecials(piece.new_block, unit, *form, out.nan, out.inf);
    return out;
  }
  if (form && unit == sizeof(uint16_t) && speed_ == Speed::kFastest && HasAvx2()) {
    ScanFast(piece, *form);
  } else {
    ScanPortably(piece, form);
  }
  const std::vector<uint32_t>& positions = changes_.positions;
  out.units_changed = positions.size();
  CountPlaces(piece, positions, out);
  if (!form) return out;
  AddExponents(piece, *form, out);
  if (piece.dtype == Dtype::kBF16) {
    CountBf16(piece, positions, totals_, out);
  } else {
    WithUnit(unit, [&]<class T>(T) { CountNumbers<T>(piece, *form, positions, totals_, out); });
  }
  return out;
}

}  // namespace wdelta
