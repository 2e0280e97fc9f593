// Elements are taken in groups of 256, as the bytes of their classes. The members of all classes in a group are counted
// together, without a branch; only then is looked at the classes that have a listed member in it. Smaller groups would
// cost more to count, larger ones more to look at.
//
// Tried and slower: one listed member in each turn of the innermost loop, so that the loop has one end less to foresee.
#include "codec/class_scan_avx2.h"

#include <bit>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>

#define WD_AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define WD_AVX2_INLINE [[gnu::always_inline]] WD_AVX2 inline

namespace wdelta {

namespace {

constexpr size_t kGroupWords = 4, kGroupVectors = 2 * kGroupWords, kGroupUnits = 64 * kGroupWords;
constexpr uint8_t kNoClass = 0xff;

// Up to four runs of 64 elements that take part, not always neighbours.
struct Group {
  alignas(32) uint8_t classes[kGroupUnits];  // kNoClass where there is no element
  size_t word[kGroupWords];                  // which runs these are, rising; beyond the last one, none
  size_t words = 0;

  size_t PlaceOf(uint32_t position) const {  // of an element that is in the group
    const size_t its_word = position / 64;
    size_t w = 0;
    for (size_t i = 1; i < kGroupWords; ++i) w += word[i] <= its_word;
    return 64 * w + position % 64;
  }
  WD_AVX2_INLINE __m256i Vector(size_t i) const {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(classes) + i);
  }
};

// Finds the classes of 64 elements; what it needs for that stays in registers. Exponents of elements of one or two
// bytes fit a byte.
template <class T>
struct ClassFinder {
  const ClassMap map;
  const __m128i shift;
  const __m256i mask, first, last;

  WD_AVX2_INLINE explicit ClassFinder(const ClassMap& classes)
      : map(classes),
        shift(_mm_cvtsi32_si128(static_cast<int>(map.field.shift))),
        mask(sizeof(T) == 2 ? _mm256_set1_epi16(static_cast<short>(map.field.mask))
                            : _mm256_set1_epi8(static_cast<char>(map.field.mask))),
        first(_mm256_set1_epi8(static_cast<char>(map.first))),
        last(_mm256_set1_epi8(static_cast<char>(map.count - 1))) {}

  WD_AVX2_INLINE void Find(const uint8_t* elements, uint8_t* classes) const {
    if constexpr (sizeof(T) > 2) {
      for (size_t i = 0; i < 64; ++i) classes[i] = static_cast<uint8_t>(map.Of(Load<T>(elements + i * sizeof(T))));
      return;
    }
    const auto* in = reinterpret_cast<const __m256i*>(elements);
    for (size_t half = 0; half < 2; ++half) {
      __m256i exponents;
      if constexpr (sizeof(T) == 2) {
        const __m256i low = _mm256_and_si256(_mm256_srl_epi16(_mm256_loadu_si256(in + 2 * half), shift), mask);
        const __m256i high = _mm256_and_si256(_mm256_srl_epi16(_mm256_loadu_si256(in + 2 * half + 1), shift), mask);
        exponents = _mm256_permute4x64_epi64(_mm256_packus_epi16(low, high), 0xd8);
      } else {
        exponents = _mm256_and_si256(_mm256_srl_epi16(_mm256_loadu_si256(in + half), shift), mask);
      }
      _mm256_store_si256(reinterpret_cast<__m256i*>(classes) + half,
                         _mm256_min_epu8(_mm256_subs_epu8(exponents, first), last));
    }
  }
};

// Fills the next group, from run `next` on; false if there are no more elements.
template <class T>
WD_AVX2_INLINE bool NextGroup(const ScanInput& in, const ClassFinder<T>& finder, size_t& next, Group& group) {
  const size_t units = in.block.size() / sizeof(T), whole_words = units / 64;
  group.words = 0;
  for (; next < whole_words && group.words < kGroupWords; ++next) {
    if (in.active[next] == 0) continue;
    finder.Find(in.block.data() + next * 64 * sizeof(T), group.classes + 64 * group.words);
    group.word[group.words++] = next;
  }
  if (group.words == kGroupWords) return true;
  for (size_t i = 64 * group.words; i < kGroupUnits; ++i) group.classes[i] = kNoClass;
  if (next == whole_words && next * 64 < units) {  // the end of the block is less than a run
    for (size_t i = 0; in.active[next] != 0 && i < units % 64; ++i) {
      const T element = Load<T>(in.block.data() + (next * 64 + i) * sizeof(T));
      group.classes[64 * group.words + i] = static_cast<uint8_t>(finder.map.Of(element));
    }
    group.word[group.words++] = next++;
  }
  for (size_t w = group.words; w < kGroupWords; ++w) group.word[w] = std::numeric_limits<size_t>::max();
  return group.words > 0;
}

// The members of classes first to first + 7 in a group: four numbers of 16 bits for the lower four classes, and for the
// upper four, each four times over, to be added. A table lookup turns the class of an element into a one in the upper
// or lower half of a byte, so that one addition counts for two classes; 8 vectors cannot overflow four bits.
struct EightCounts {
  __m256i lower, upper;

  WD_AVX2_INLINE __m256i AddPairs() const {
    return _mm256_add_epi64(_mm256_unpacklo_epi64(lower, upper), _mm256_unpackhi_epi64(lower, upper));
  }
};
template <int kFirst>
WD_AVX2_INLINE EightCounts CountEight(const __m256i (&vectors)[kGroupVectors]) {
  const __m256i zero = _mm256_setzero_si256(), low_half = _mm256_set1_epi8(0x0f);
  __m256i table = _mm256_broadcastsi128_si256(_mm_slli_si128(_mm_setr_epi32(1, 16, 0, 0), kFirst));
  EightCounts counts{zero, zero};
  for (int i = 0; i < 4; ++i) {
    __m256i both = _mm256_shuffle_epi8(table, vectors[0]);
    for (size_t v = 1; v < kGroupVectors; ++v) both = _mm256_add_epi8(both, _mm256_shuffle_epi8(table, vectors[v]));
    const __m256i in_lower = _mm256_sad_epu8(_mm256_and_si256(low_half, both), zero);
    const __m256i in_upper = _mm256_sad_epu8(_mm256_andnot_si256(low_half, both), zero);
    counts.lower = _mm256_or_si256(counts.lower, _mm256_slli_epi64(in_lower, 16 * i));
    counts.upper = _mm256_or_si256(counts.upper, _mm256_slli_epi64(in_upper, 16 * i));
    table = _mm256_slli_si256(table, 1);
  }
  counts.upper = _mm256_srli_epi16(counts.upper, 4);
  return counts;
}

// How many members each class has in a group, as 16 numbers of 16 bits.
WD_AVX2_INLINE __m256i CountMembers(const Group& group, unsigned classes) {
  __m256i vectors[kGroupVectors];
  for (size_t i = 0; i < kGroupVectors; ++i) vectors[i] = group.Vector(i);
  const __m256i a = CountEight<0>(vectors).AddPairs();
  const __m256i b = classes > 8 ? CountEight<8>(vectors).AddPairs() : _mm256_setzero_si256();
  return _mm256_add_epi64(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
}

// 16 numbers of 32 bits, one for each class.
struct Sixteen {
  alignas(32) std::array<int32_t, kMaxClasses> number{};

  WD_AVX2_INLINE __m256i Half(size_t i) const {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(number.data()) + i);
  }
  WD_AVX2_INLINE void SetHalf(size_t i, __m256i value) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(number.data()) + i, value);
  }
};

WD_AVX2_INLINE __m256i Widen(__m256i counts, size_t half) {
  return _mm256_cvtepu16_epi32(half == 0 ? _mm256_castsi256_si128(counts) : _mm256_extracti128_si256(counts, 1));
}

WD_AVX2_INLINE uint32_t Sum(__m256i bytes) {
  const __m256i four = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
  const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
  return static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_add_epi64(two, _mm_unpackhi_epi64(two, two))));
}

// Ones for the first n bytes of a group, taken from the middle of this.
struct Below {
  constexpr Below() : bytes() {
    for (size_t i = 0; i < kGroupUnits; ++i) bytes[i] = 1;
  }
  uint8_t bytes[2 * kGroupUnits];
};
constexpr Below kBelow;

// How many of the first n elements of a group belong to class c.
WD_AVX2_INLINE uint32_t CountBelow(const Group& group, unsigned c, size_t n) {
  const __m256i value = _mm256_set1_epi8(static_cast<char>(c));
  const auto* below = reinterpret_cast<const __m256i*>(kBelow.bytes + kGroupUnits - n);
  __m256i lanes = _mm256_setzero_si256();
  for (size_t i = 0; i < kGroupVectors; ++i) {
    const __m256i equal = _mm256_cmpeq_epi8(group.Vector(i), value);
    lanes = _mm256_add_epi8(lanes, _mm256_and_si256(equal, _mm256_loadu_si256(below + i)));
  }
  return Sum(lanes);
}

template <class T>
WD_AVX2 ClassCounts Rank(const ScanInput& in, std::span<const uint32_t> positions, ClassRanks& ranks) {
  const ClassFinder<T> finder(in.map);
  Group group;
  Sixteen seen;
  const uint32_t* position = positions.data();
  const uint32_t* const end = position + positions.size();
  for (size_t next = 0; NextGroup<T>(in, finder, next, group);) {
    for (const size_t last = group.word[group.words - 1]; position != end && *position / 64 <= last; ++position) {
      const size_t at = group.PlaceOf(*position);
      const unsigned c = group.classes[at];
      ranks[c].push_back(static_cast<uint32_t>(seen.number[c]) + CountBelow(group, c, at));
    }
    const __m256i counts = CountMembers(group, in.map.count);
    for (size_t half = 0; half < 2; ++half) {
      seen.SetHalf(half, _mm256_add_epi32(seen.Half(half), Widen(counts, half)));
    }
  }
  return std::bit_cast<ClassCounts>(seen.number);
}

// Where found elements go: written to by pointer, in vectors that are cut to length in the end.
template <class T>
class Finds {
 public:
  Finds(BlockDelta& delta, size_t expected, size_t most) : delta_(delta), most_(most) {
    Resize(std::min(expected, most) + kRoom);
  }

  // Takes the elements of a run whose bits are set.
  WD_AVX2_INLINE void Take(const uint8_t* block, size_t word, uint64_t bits) {
    const auto count = static_cast<size_t>(_mm_popcnt_u64(bits));
    // Most runs have none, one or two; which is hard to foresee, so two are written whether they are there or not.
    uint32_t* to = delta_.positions.data() + count_;
    uint8_t* value_to = delta_.values.data() + count_ * sizeof(T);
    const uint32_t* const end = to + count;
    do {
      for (size_t pair = 0; pair < 2; ++pair, bits &= bits - 1) {
        const size_t position = word * 64 + (_tzcnt_u64(bits) & 63);
        to[pair] = static_cast<uint32_t>(position);
        Store(value_to + pair * sizeof(T), Load<T>(block + position * sizeof(T)));
      }
      to += 2;
      value_to += 2 * sizeof(T);
    } while (to < end);
    count_ += count;
  }
  bool MakeRoom() {  // for a group; false if there are too many already
    if (count_ > most_) return false;
    if (count_ + kRoom > delta_.positions.size()) Resize(std::min(2 * count_, most_) + kRoom);
    return true;
  }
  void Finish() { Resize(count_ > most_ ? 0 : count_); }

 private:
  static constexpr size_t kRoom = kGroupUnits + 2;
  void Resize(size_t size) {
    delta_.positions.reserve(size);  // else it would grow to more than that
    delta_.values.reserve(size * sizeof(T));
    delta_.positions.resize(size);
    delta_.values.resize(size * sizeof(T));
  }

  BlockDelta& delta_;
  const size_t most_;
  size_t count_ = 0;
};

// One class in one group.
struct Members {
  uint64_t mask[kGroupWords];
  uint64_t before;  // for each run 16 bits: members in earlier runs of the group

  WD_AVX2_INLINE Members(const Group& group, unsigned c) {
    const __m256i value = _mm256_set1_epi8(static_cast<char>(c));
    for (size_t w = 0; w < kGroupWords; ++w) {
      const auto low = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(group.Vector(2 * w), value)));
      const auto high = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(group.Vector(2 * w + 1), value)));
      uint64_t both = uint64_t{high} << 32 | low;
      asm("" : "+r"(both));  // else g++ gathers all four in a vector first, which takes longer
      mask[w] = both;
    }
    before = kEach * static_cast<uint64_t>(_mm_popcnt_u64(mask[0])) << 16;
    before += kEach * static_cast<uint64_t>(_mm_popcnt_u64(mask[1])) << 32;
    before += static_cast<uint64_t>(_mm_popcnt_u64(mask[2])) << 48;
  }
  // Flips the bit of one member, by its number in the group. All four runs are compared at once.
  WD_AVX2_INLINE void Flip(uint64_t number, uint64_t (&bits)[kGroupWords]) const {
    const uint64_t reached = ((number | 0x8000) * kEach - before) & 0x8000 * kEach;
    const auto w = static_cast<size_t>(_mm_popcnt_u64(reached)) - 1;
    bits[w] ^= _pdep_u64(uint64_t{1} << (number - (before >> (16 * w) & 0xffff)), mask[w]);
  }

 private:
  static_assert(kGroupWords == 4 && kGroupUnits < 0x8000);
  static constexpr uint64_t kEach = 0x0001000100010001;
};

template <class T>
WD_AVX2 ClassCounts Select(const ScanInput& in, const ClassRanks& ranks, uint32_t complement, size_t most,
                           BlockDelta& found) {
  // For each class, how many members come before the next listed one, from the present group on. A block has far fewer
  // elements than kNever, so a class with none left never gets there.
  constexpr int32_t kNever = std::numeric_limits<int32_t>::max();
  const auto ahead = [](uint64_t members) { return static_cast<int32_t>(std::min<uint64_t>(members, kNever)); };
  Sixteen left, seen, counted;
  std::array<const uint32_t*, kMaxClasses> listed{}, end{};
  size_t expected = 0;
  for (unsigned c = 0; c < kMaxClasses; ++c) {
    listed[c] = ranks[c].data();
    end[c] = listed[c] + ranks[c].size();
    left.number[c] = ranks[c].empty() ? kNever : ahead(ranks[c].front());
    expected += ranks[c].size();
  }
  const size_t units = in.block.size() / sizeof(T);
  Finds<T> finds(found, std::min(expected, units), std::min(most, units));
  const ClassFinder<T> finder(in.map);
  Group group;
  for (size_t next = 0; NextGroup<T>(in, finder, next, group);) {
    const __m256i counts = CountMembers(group, in.map.count);
    uint32_t busy = 0;  // classes that find something here
    for (size_t half = 0; half < 2; ++half) {
      const __m256i count = Widen(counts, half), after = _mm256_sub_epi32(left.Half(half), count);
      counted.SetHalf(half, count);
      seen.SetHalf(half, _mm256_add_epi32(seen.Half(half), count));
      left.SetHalf(half, after);
      busy |= static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(after))) << (8 * half);
    }
    if (complement != 0) {
      const __m256i none = _mm256_cmpeq_epi16(counts, _mm256_setzero_si256());
      const __m128i packed = _mm_packs_epi16(_mm256_castsi256_si128(none), _mm256_extracti128_si256(none, 1));
      busy |= complement & ~static_cast<uint32_t>(_mm_movemask_epi8(packed));
    }
    if (busy == 0) continue;
    uint64_t bits[kGroupWords] = {};
    for (; busy != 0; busy &= busy - 1) {
      const auto c = static_cast<unsigned>(std::countr_zero(busy));
      const Members members(group, c);
      if (complement >> c & 1) {
        for (size_t w = 0; w < kGroupWords; ++w) bits[w] |= members.mask[w];
      }
      int32_t number = left.number[c] + counted.number[c];
      while (number < counted.number[c]) {
        members.Flip(static_cast<uint64_t>(number), bits);
        const uint32_t* const last = listed[c]++;
        number = listed[c] == end[c] ? kNever : ahead(uint64_t{*listed[c]} - *last + static_cast<uint32_t>(number));
      }
      left.number[c] = number - counted.number[c];
    }
    if (!finds.MakeRoom()) continue;
    for (size_t w = 0; w < group.words; ++w) finds.Take(in.block.data(), group.word[w], bits[w]);
  }
  finds.Finish();
  return std::bit_cast<ClassCounts>(seen.number);
}

}  // namespace

ClassCounts RankByAvx2(const ScanInput& in, std::span<const uint32_t> positions, ClassRanks& ranks) {
  return WithUnit(in.unit, [&]<class T>(T) { return Rank<T>(in, positions, ranks); });
}

ClassCounts SelectByAvx2(const ScanInput& in, const ClassRanks& ranks, uint32_t complement, uint64_t most,
                         BlockDelta& found) {
  return WithUnit(in.unit, [&]<class T>(T) { return Select<T>(in, ranks, complement, most, found); });
}

}  // namespace wdelta

#else  // another processor: these are never called

namespace wdelta {

ClassCounts RankByAvx2(const ScanInput&, std::span<const uint32_t>, ClassRanks&) {
  return {};
}
ClassCounts SelectByAvx2(const ScanInput&, const ClassRanks&, uint32_t, uint64_t, BlockDelta&) {
  return {};
}

}  // namespace wdelta

#endif
