#include "stats/tally_scan.h"

#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>

#define WD_AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define WD_AVX2_INLINE [[gnu::always_inline]] WD_AVX2 inline

namespace wdelta {

namespace {

constexpr size_t kVectors = kScanGroup / 64;  // of 32 elements each

// Adds three bits in each place: sum and carry.
WD_AVX2_INLINE void AddBits(__m256i a, __m256i b, __m256i c, __m256i& sum, __m256i& carry) {
  const __m256i half = _mm256_xor_si256(a, b);
  carry = _mm256_or_si256(_mm256_and_si256(a, b), _mm256_and_si256(half, c));
  sum = _mm256_xor_si256(half, c);
}

// Counts how often each of eight classes occurs among bytes that name classes: `table` turns a name into one bit.
class ClassCounter {
 public:
  WD_AVX2_INLINE explicit ClassCounter(__m256i table) : table_(table) {
    ones_ = twos_ = fours_ = eights_ = _mm256_setzero_si256();
  }
  WD_AVX2_INLINE void AddGroup(const __m256i* names) {
    __m256i sixteens, eights_a, eights_b;
    AddEight(names, eights_a);
    AddEight(names + 8, eights_b);
    AddBits(eights_, eights_a, eights_b, eights_, sixteens);
    Flush(sixteens, 16);
  }
  WD_AVX2_INLINE void Finish() {
    Flush(eights_, 8);
    Flush(fours_, 4);
    Flush(twos_, 2);
    Flush(ones_, 1);
  }
  uint32_t count(unsigned place) const { return counts_[place]; }

 private:
  WD_AVX2_INLINE __m256i Bits(const __m256i* name) const {
    return _mm256_shuffle_epi8(table_, _mm256_load_si256(name));
  }
  WD_AVX2_INLINE void AddFour(const __m256i* names, __m256i& fours) {
    __m256i twos_a, twos_b;
    AddBits(ones_, Bits(names), Bits(names + 1), ones_, twos_a);
    AddBits(ones_, Bits(names + 2), Bits(names + 3), ones_, twos_b);
    AddBits(twos_, twos_a, twos_b, twos_, fours);
  }
  WD_AVX2_INLINE void AddEight(const __m256i* names, __m256i& eights) {
    __m256i fours_a, fours_b;
    AddFour(names, fours_a);
    AddFour(names + 4, fours_b);
    AddBits(fours_, fours_a, fours_b, fours_, eights);
  }
  WD_AVX2_INLINE void Flush(__m256i bits, uint32_t weight) {
    for (unsigned place = 8; place-- > 0;) {
      counts_[place] +=
          weight * static_cast<uint32_t>(_mm_popcnt_u32(static_cast<unsigned>(_mm256_movemask_epi8(bits))));
      bits = _mm256_add_epi8(bits, bits);
    }
  }

  __m256i table_, ones_, twos_, fours_, eights_;
  uint32_t counts_[8] = {};
};

WD_AVX2 void Scan(const uint8_t* old_bytes, const uint8_t* new_bytes, size_t groups, const FloatForm& form,
                  unsigned window, uint32_t* exponents, uint32_t* changed) {
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(form.mantissa_bits));
  const __m256i mask = _mm256_set1_epi16(static_cast<short>(form.exponent_mask()));
  const __m256i first = _mm256_set1_epi8(static_cast<char>(window));
  // Added to a place in the window it leaves the sign alone; beyond it the sign is set, which the table makes no bit.
  const __m256i beyond = _mm256_set1_epi8(0x80 - kScanWindow);
  const __m256i low = _mm256_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0,  //
                                       1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0);
  ClassCounter low_counter(low), high_counter(_mm256_permute4x64_epi64(low, 0xb1));
  alignas(32) __m256i names[kVectors];
  alignas(32) uint8_t fields[32];
  for (size_t group = 0; group < groups; ++group) {
    for (size_t v = 0; v < kVectors; ++v) {
      const auto* old_at = reinterpret_cast<const __m256i*>(old_bytes) + 2 * (group * kVectors + v);
      const auto* new_at = reinterpret_cast<const __m256i*>(new_bytes) + 2 * (group * kVectors + v);
      const __m256i a = _mm256_loadu_si256(old_at), b = _mm256_loadu_si256(old_at + 1);
      const __m256i same = _mm256_packs_epi16(_mm256_cmpeq_epi16(a, _mm256_loadu_si256(new_at)),
                                              _mm256_cmpeq_epi16(b, _mm256_loadu_si256(new_at + 1)));
      changed[group * kVectors + v] =
          ~static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_permute4x64_epi64(same, 0xd8)));
      const __m256i field = _mm256_packus_epi16(_mm256_and_si256(_mm256_srl_epi16(a, shift), mask),
                                                _mm256_and_si256(_mm256_srl_epi16(b, shift), mask));
      const __m256i name = _mm256_adds_epu8(_mm256_sub_epi8(field, first), beyond);
      _mm256_store_si256(names + v, name);
      if (auto outside = static_cast<uint32_t>(_mm256_movemask_epi8(name))) {
        _mm256_store_si256(reinterpret_cast<__m256i*>(fields), field);
        for (; outside != 0; outside &= outside - 1) ++exponents[fields[std::countr_zero(outside)]];
      }
    }
    low_counter.AddGroup(names);
    high_counter.AddGroup(names);
  }
  low_counter.Finish();
  high_counter.Finish();
  for (unsigned place = 0; place < 8; ++place) {
    exponents[window + place] += low_counter.count(place);
    exponents[window + 8 + place] += high_counter.count(place);
  }
}

}  // namespace

void ScanByAvx2(const uint8_t* old_bytes, const uint8_t* new_bytes, size_t bytes, const FloatForm& form,
                unsigned window, ScanResult& result) {
  result.changed.resize(bytes / 64);
  Scan(old_bytes, new_bytes, bytes / kScanGroup, form, window, result.exponents.data(), result.changed.data());
}

// Two words at a time, and two places whether there are that many or not: most words have none or one, and which
// cannot be foreseen.
WD_AVX2 void ListBits(const std::vector<uint32_t>& words, std::vector<uint32_t>& places) {
  constexpr size_t kAtOnce = 2;
  size_t total = 0;
  for (const uint32_t word : words) total += static_cast<size_t>(_mm_popcnt_u32(word));
  places.resize(total + kAtOnce);
  uint32_t* out = places.data();
  for (size_t i = 0; i < words.size(); i += 2) {
    uint64_t bits = words[i] | (i + 1 < words.size() ? uint64_t{words[i + 1]} << 32 : 0);
    const auto count = static_cast<size_t>(_mm_popcnt_u64(bits));
    const auto first = static_cast<uint32_t>(32 * i);
    for (size_t k = 0; k < kAtOnce; ++k) {
      out[k] = first + static_cast<uint32_t>(_tzcnt_u64(bits));
      bits = _blsr_u64(bits);
    }
    for (size_t k = kAtOnce; k < count; ++k) {
      out[k] = first + static_cast<uint32_t>(_tzcnt_u64(bits));
      bits = _blsr_u64(bits);
    }
    out += count;
  }
  places.resize(total);
}

#else  // another processor: never called

namespace wdelta {

void ScanByAvx2(const uint8_t*, const uint8_t*, size_t, const FloatForm&, unsigned, ScanResult&) {}
void ListBits(const std::vector<uint32_t>&, std::vector<uint32_t>&) {}

#endif

unsigned BestWindow(const std::vector<uint32_t>& exponents) {
  uint64_t inside = 0, most = 0;
  unsigned best = 0;
  for (size_t end = 1; end <= exponents.size(); ++end) {
    inside += exponents[end - 1];
    if (end > kScanWindow) inside -= exponents[end - 1 - kScanWindow];
    if (inside <= most || end < kScanWindow) continue;
    most = inside;
    best = static_cast<unsigned>(end - kScanWindow);
  }
  return best;
}

}  // namespace wdelta
