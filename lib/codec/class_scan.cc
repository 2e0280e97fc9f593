#include "codec/class_scan.h"

#include <bit>

#include "codec/class_scan_avx2.h"

namespace wdelta {

ExponentField ExponentOf(Dtype dtype) {
  const std::optional<FloatForm> form = FloatFormOf(dtype);
  if (!form) return {0, 0};
  return {form->mantissa_bits, static_cast<uint32_t>(form->exponent_mask())};
}

namespace {

using Masks = std::array<uint64_t, kMaxClasses>;

// For each class, which of up to 64 elements belong to it.
template <class T>
void FindMasks(const uint8_t* elements, size_t count, const ClassMap& map, Masks& masks) {
  masks.fill(0);
  for (size_t i = 0; i < count; ++i) masks[map.Of(Load<T>(elements + i * sizeof(T)))] |= uint64_t{1} << i;
}

unsigned CountOnes(uint64_t word) {
  return static_cast<unsigned>(std::popcount(word));
}

uint64_t NthOne(uint64_t word, uint32_t n) {  // as a word with that one bit
  for (; n > 0; --n) word &= word - 1;
  return word & (0 - word);
}

// Calls visit(word, masks) for each run of 64 elements that takes part.
template <class T, class Visit>
void ForEachActive(const ScanInput& in, const Visit& visit) {
  Masks masks;
  const size_t units = in.block.size() / sizeof(T);
  for (size_t word = 0; word * 64 < units; ++word) {
    if (in.active[word] == 0) continue;
    FindMasks<T>(in.block.data() + word * 64 * sizeof(T), std::min<size_t>(64, units - word * 64), in.map, masks);
    visit(word, masks);
  }
}

template <class T>
ClassCounts PortableRank(const ScanInput& in, std::span<const uint32_t> positions, ClassRanks& ranks) {
  ClassCounts seen{};
  auto position = positions.begin();
  ForEachActive<T>(in, [&](size_t word, const Masks& masks) {
    for (; position != positions.end() && *position / 64 == word; ++position) {
      const unsigned c = in.map.Of(Load<T>(in.block.data() + size_t{*position} * sizeof(T)));
      ranks[c].push_back(seen[c] + CountOnes(masks[c] & ((uint64_t{1} << (*position % 64)) - 1)));
    }
    for (unsigned c = 0; c < in.map.count; ++c) seen[c] += CountOnes(masks[c]);
  });
  return seen;
}

template <class T>
ClassCounts PortableSelect(const ScanInput& in, const ClassRanks& ranks, uint32_t complement, uint64_t most,
                           BlockDelta& found) {
  ClassCounts seen{};
  std::array<size_t, kMaxClasses> next{};  // for each class, the first listed member that was not reached
  ForEachActive<T>(in, [&](size_t word, const Masks& masks) {
    uint64_t bits = 0;
    for (unsigned c = 0; c < in.map.count; ++c) {
      const uint32_t after = seen[c] + CountOnes(masks[c]);
      if (complement >> c & 1) bits |= masks[c];
      for (; next[c] < ranks[c].size() && ranks[c][next[c]] < after; ++next[c]) {
        bits ^= NthOne(masks[c], ranks[c][next[c]] - seen[c]);
      }
      seen[c] = after;
    }
    for (; bits != 0 && found.positions.size() <= most; bits &= bits - 1) {
      const size_t position = word * 64 + static_cast<unsigned>(std::countr_zero(bits));
      const uint8_t* const element = in.block.data() + position * sizeof(T);
      found.positions.push_back(static_cast<uint32_t>(position));
      found.values.insert(found.values.end(), element, element + sizeof(T));
    }
  });
  if (found.positions.size() > most) found.Clear();
  return seen;
}

}  // namespace

ClassScan::ClassScan(const ScanInput& in, Form form) : in_(in), fast_(form == Form::kFastest && HasAvx2()) {}

ClassCounts ClassScan::Rank(std::span<const uint32_t> positions, ClassRanks& ranks) const {
  if (fast_) return RankByAvx2(in_, positions, ranks);
  return WithUnit(in_.unit, [&]<class T>(T) { return PortableRank<T>(in_, positions, ranks); });
}

ClassCounts ClassScan::Select(const ClassRanks& ranks, uint32_t complement, uint64_t most, BlockDelta& found) const {
  found.Clear();
  if (fast_) return SelectByAvx2(in_, ranks, complement, most, found);
  return WithUnit(in_.unit, [&]<class T>(T) { return PortableSelect<T>(in_, ranks, complement, most, found); });
}

}  // namespace wdelta
