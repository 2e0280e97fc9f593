#include "codec/class_scan.h"

#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace wdelta {

ExponentField ExponentOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::kBF16:
      return {7, 0xff};
    case Dtype::kF16:
      return {10, 0x1f};
    case Dtype::kF32:
      return {23, 0xff};
    case Dtype::kF64:
      return {52, 0x7ff};
    case Dtype::kF8E4M3:
    case Dtype::kF8E4M3Fnuz:
      return {3, 0xf};
    case Dtype::kF8E5M2:
    case Dtype::kF8E5M2Fnuz:
      return {2, 0x1f};
    default:
      return {0, 0};
  }
}

namespace {

using Masks = std::array<uint64_t, kMaxClasses>;

uint64_t LoadUnit(const uint8_t* at, unsigned unit) {
  switch (unit) {
    case 1:
      return *at;
    case 2:
      return Load<uint16_t>(at);
    case 4:
      return Load<uint32_t>(at);
    default:
      return Load<uint64_t>(at);
  }
}

// For each class, which of up to 64 elements belong to it.
void PortableMasks(const uint8_t* elements, unsigned unit, size_t count, const ClassMap& map, Masks& masks) {
  for (unsigned c = 0; c < map.count; ++c) masks[c] = 0;
  for (size_t i = 0; i < count; ++i) masks[map.Of(LoadUnit(elements + i * unit, unit))] |= uint64_t{1} << i;
}

struct Portable {
  static void FindMasks(const uint8_t* elements, unsigned unit, size_t count, const ClassMap& map, Masks& masks) {
    PortableMasks(elements, unit, count, map, masks);
  }
  static unsigned CountOnes(uint64_t word) { return static_cast<unsigned>(std::popcount(word)); }
  static uint64_t NthOne(uint64_t word, uint32_t n) {  // as a word with that one bit
    for (; n > 0; --n) word &= word - 1;
    return word & (0 - word);
  }
};

#if defined(__x86_64__)
#define WD_AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt")))

struct Avx2 {
  // The class of each of 64 elements, a byte each, in order. Only for elements of one or two bytes.
  [[gnu::always_inline]] WD_AVX2 static inline void FindClasses(const uint8_t* elements, unsigned unit,
                                                                const ClassMap& map, __m256i (&classes)[2]) {
    const auto* in = reinterpret_cast<const __m256i*>(elements);
    const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(map.field.shift));
    for (int half = 0; half < 2; ++half) {
      __m256i exponents;
      if (unit == 2) {
        const __m256i mask = _mm256_set1_epi16(static_cast<short>(map.field.mask));
        const __m256i low = _mm256_and_si256(_mm256_srl_epi16(_mm256_loadu_si256(in + 2 * half), shift), mask);
        const __m256i high = _mm256_and_si256(_mm256_srl_epi16(_mm256_loadu_si256(in + 2 * half + 1), shift), mask);
        exponents = _mm256_permute4x64_epi64(_mm256_packus_epi16(low, high), 0xd8);
      } else {
        const __m256i mask = _mm256_set1_epi8(static_cast<char>(map.field.mask));
        exponents = _mm256_and_si256(_mm256_srl_epi16(_mm256_loadu_si256(in + half), shift), mask);
      }
      const __m256i above_first = _mm256_subs_epu8(exponents, _mm256_set1_epi8(static_cast<char>(map.first)));
      classes[half] = _mm256_min_epu8(above_first, _mm256_set1_epi8(static_cast<char>(map.count - 1)));
    }
  }
  [[gnu::always_inline]] WD_AVX2 static inline uint64_t EqualTo(const __m256i (&classes)[2], __m256i value) {
    const auto low = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(classes[0], value)));
    const auto high = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(classes[1], value)));
    return uint64_t{high} << 32 | low;
  }
  [[gnu::always_inline]] WD_AVX2 static inline uint64_t MaskOf(const __m256i (&classes)[2], unsigned c) {
    return EqualTo(classes, _mm256_set1_epi8(static_cast<char>(c)));
  }
  [[gnu::always_inline]] WD_AVX2 static inline uint32_t Sum(__m256i lanes) {
    const __m256i four = _mm256_sad_epu8(lanes, _mm256_setzero_si256());
    const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
    return static_cast<uint32_t>(_mm_cvtsi128_si64(two) + _mm_extract_epi64(two, 1));
  }
  [[gnu::always_inline]] WD_AVX2 static inline unsigned CountOnes(uint64_t word) {
    return static_cast<unsigned>(_mm_popcnt_u64(word));
  }
  [[gnu::always_inline]] WD_AVX2 static inline uint64_t NthOne(uint64_t word, uint32_t n) {
    return _pdep_u64(uint64_t{1} << n, word);
  }
};
#endif

struct ScanInput {
  ByteSpan block;
  unsigned unit;
  const ClassMap& map;
  std::span<const uint64_t> active;
};

template <class Form>
ClassCounts RankLoop(const ScanInput& in, std::span<const uint32_t> positions, ClassRanks& ranks);
template <class Form>
ClassCounts SelectLoop(const ScanInput& in, const ClassRanks& ranks, uint32_t complement, std::span<uint64_t> found);

template <>
ClassCounts RankLoop<Portable>(const ScanInput& in, std::span<const uint32_t> positions, ClassRanks& ranks) {
  ClassCounts seen{};
  Masks masks;
  const size_t units = in.block.size() / in.unit;
  const unsigned classes = in.map.count;
  auto position = positions.begin();
  for (size_t word = 0; word * 64 < units; ++word) {
    if (in.active[word] == 0) continue;
    const size_t count = std::min<size_t>(64, units - word * 64);
    Portable::FindMasks(in.block.data() + word * 64 * in.unit, in.unit, count, in.map, masks);
    for (; position != positions.end() && *position / 64 == word; ++position) {
      const unsigned c = in.map.Of(LoadUnit(in.block.data() + size_t{*position} * in.unit, in.unit));
      ranks[c].push_back(seen[c] + Portable::CountOnes(masks[c] & ((uint64_t{1} << (*position % 64)) - 1)));
    }
    for (unsigned c = 0; c < classes; ++c) seen[c] += Portable::CountOnes(masks[c]);
  }
  return seen;
}

// The listed members that are still to be found: for each class the next of them, kNone at the end.
struct Pending {
  static constexpr uint32_t kNone = ~uint32_t{0};

  Pending(const ClassRanks& ranks, unsigned classes) {
    for (unsigned c = 0; c < classes; ++c) {
      next[c] = ranks[c].data();
      end[c] = next[c] + ranks[c].size();
      rank[c] = ranks[c].empty() ? kNone : ranks[c][0];
    }
  }
  void Advance(unsigned c) { rank[c] = ++next[c] == end[c] ? kNone : *next[c]; }

  std::array<const uint32_t*, kMaxClasses> next{}, end{};
  std::array<uint32_t, kMaxClasses> rank{};
};

// The found ones among 64 elements.
template <class Form>
uint64_t SelectInWord(const Masks& masks, unsigned classes, uint32_t complement, ClassCounts& seen, Pending& pending) {
  uint64_t bits = 0;
  for (unsigned c = 0; c < classes; ++c) {
    const uint32_t after = seen[c] + Form::CountOnes(masks[c]);
    if (complement >> c & 1) bits |= masks[c];
    for (; pending.rank[c] < after; pending.Advance(c)) bits ^= Form::NthOne(masks[c], pending.rank[c] - seen[c]);
    seen[c] = after;
  }
  return bits;
}

template <>
ClassCounts SelectLoop<Portable>(const ScanInput& in, const ClassRanks& ranks, uint32_t complement,
                                 std::span<uint64_t> found) {
  ClassCounts seen{};
  Masks masks;
  Pending pending(ranks, in.map.count);
  const size_t units = in.block.size() / in.unit;
  for (size_t word = 0; word * 64 < units; ++word) {
    if (in.active[word] == 0) continue;
    const size_t count = std::min<size_t>(64, units - word * 64);
    Portable::FindMasks(in.block.data() + word * 64 * in.unit, in.unit, count, in.map, masks);
    found[word] = SelectInWord<Portable>(masks, in.map.count, complement, seen, pending);
  }
  return seen;
}

#if defined(__x86_64__)
// Here members are counted a lane at a time, and lanes are summed up only where an element asks for its number: most
// groups of 64 have none that does in a given class. A lane is a byte, so it must be emptied in time.
template <>
WD_AVX2 ClassCounts RankLoop<Avx2>(const ScanInput& in, std::span<const uint32_t> positions, ClassRanks& ranks) {
  const size_t units = in.block.size() / in.unit, whole_words = in.unit <= 2 ? units / 64 : 0;
  const unsigned classes = in.map.count;
  ClassCounts seen{};
  alignas(32) __m256i lanes[kMaxClasses];
  const auto empty = [&]() WD_AVX2 {
    for (unsigned c = 0; c < classes; ++c) {
      seen[c] += Avx2::Sum(lanes[c]);
      lanes[c] = _mm256_setzero_si256();
    }
  };
  for (unsigned c = 0; c < classes; ++c) lanes[c] = _mm256_setzero_si256();
  auto position = positions.begin();
  unsigned filled = 0;
  for (size_t word = 0; word < whole_words; ++word) {
    if (in.active[word] == 0) continue;
    __m256i found[2];
    Avx2::FindClasses(in.block.data() + word * 64 * in.unit, in.unit, in.map, found);
    for (; position != positions.end() && *position / 64 == word; ++position) {
      const unsigned c = in.map.Of(LoadUnit(in.block.data() + size_t{*position} * in.unit, in.unit));
      const uint64_t below = (uint64_t{1} << (*position % 64)) - 1;
      ranks[c].push_back(seen[c] + Avx2::Sum(lanes[c]) + Avx2::CountOnes(Avx2::MaskOf(found, c) & below));
    }
    __m256i value = _mm256_setzero_si256();
    for (unsigned c = 0; c < classes; ++c) {
      lanes[c] = _mm256_sub_epi8(
          lanes[c], _mm256_add_epi8(_mm256_cmpeq_epi8(found[0], value), _mm256_cmpeq_epi8(found[1], value)));
      value = _mm256_add_epi8(value, _mm256_set1_epi8(1));
    }
    if (++filled == 127) {
      empty();
      filled = 0;
    }
  }
  empty();
  const size_t done = whole_words * 64;
  if (done == units) return seen;
  ClassRanks rest;  // the end of the block, or all of it for wide elements
  std::vector<uint32_t> rest_positions(position, positions.end());
  for (uint32_t& each : rest_positions) each -= static_cast<uint32_t>(done);
  const ScanInput tail{in.block.subspan(done * in.unit), in.unit, in.map, in.active.subspan(whole_words)};
  const ClassCounts more = RankLoop<Portable>(tail, rest_positions, rest);
  for (unsigned c = 0; c < classes; ++c) {
    for (const uint32_t rank : rest[c]) ranks[c].push_back(seen[c] + rank);
    seen[c] += more[c];
  }
  return seen;
}
// Members are counted for 512 elements at a time; single elements are looked at only where a listed one is among them.
template <>
WD_AVX2 ClassCounts SelectLoop<Avx2>(const ScanInput& in, const ClassRanks& ranks, uint32_t complement,
                                     std::span<uint64_t> found) {
  constexpr size_t kWords = 8;
  const size_t units = in.block.size() / in.unit;
  if (in.unit > 2) return SelectLoop<Portable>(in, ranks, complement, found);
  const unsigned classes = in.map.count;
  ClassCounts seen{};
  Pending pending(ranks, classes);
  size_t word = 0;
  while ((word + 1) * 64 <= units) {
    if (in.active[word] == 0) {
      ++word;
      continue;
    }
    __m256i members[kWords][2];
    size_t words = 0;  // whole and active ones from here on
    for (; words < kWords && (word + words + 1) * 64 <= units && in.active[word + words] != 0; ++words) {
      Avx2::FindClasses(in.block.data() + (word + words) * 64 * in.unit, in.unit, in.map, members[words]);
      found[word + words] = 0;
    }
    for (unsigned c = 0; c < classes; ++c) {
      const bool others = (complement >> c & 1) != 0;
      const __m256i value = _mm256_set1_epi8(static_cast<char>(c));
      if (!others) {
        __m256i lanes = _mm256_setzero_si256();
        for (size_t w = 0; w < words; ++w) {
          lanes = _mm256_sub_epi8(
              lanes, _mm256_add_epi8(_mm256_cmpeq_epi8(members[w][0], value), _mm256_cmpeq_epi8(members[w][1], value)));
        }
        const uint32_t after = seen[c] + Avx2::Sum(lanes);
        if (pending.rank[c] >= after) {
          seen[c] = after;
          continue;
        }
      }
      for (size_t w = 0; w < words; ++w) {
        const uint64_t mask = Avx2::EqualTo(members[w], value);
        const uint32_t after = seen[c] + Avx2::CountOnes(mask);
        uint64_t bits = others ? mask : 0;
        while (pending.rank[c] < after) {
          bits ^= Avx2::NthOne(mask, pending.rank[c] - seen[c]);
          pending.Advance(c);
        }
        found[word + w] |= bits;
        seen[c] = after;
      }
    }
    word += words;
  }
  if (word * 64 < units && in.active[word] != 0) {  // the end of the block
    Masks masks;
    Portable::FindMasks(in.block.data() + word * 64 * in.unit, in.unit, units - word * 64, in.map, masks);
    found[word] = SelectInWord<Portable>(masks, classes, complement, seen, pending);
  }
  return seen;
}
#endif

bool HasAvx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("popcnt");
#else
  return false;
#endif
}

}  // namespace

ClassScan::ClassScan(ByteSpan block, unsigned unit, const ClassMap& map, std::span<const uint64_t> active, Form form)
    : block_(block), unit_(unit), map_(map), active_(active), fast_(form == Form::kFastest && HasAvx2()) {}

ClassCounts ClassScan::Rank(std::span<const uint32_t> positions, ClassRanks& ranks) const {
  const ScanInput in{block_, unit_, map_, active_};
#if defined(__x86_64__)
  if (fast_) return RankLoop<Avx2>(in, positions, ranks);
#endif
  return RankLoop<Portable>(in, positions, ranks);
}

ClassCounts ClassScan::Select(const ClassRanks& ranks, uint32_t complement, std::span<uint64_t> found) const {
  const ScanInput in{block_, unit_, map_, active_};
#if defined(__x86_64__)
  if (fast_) return SelectLoop<Avx2>(in, ranks, complement, found);
#endif
  return SelectLoop<Portable>(in, ranks, complement, found);
}

}  // namespace wdelta
