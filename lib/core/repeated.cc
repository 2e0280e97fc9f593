// Whether a value occurs twice among millions of hashes, in place and quickly: std::sort needs a second for the ten
// million keys that a hostile header may have, this a tenth of it.
#include <algorithm>
#include <array>
#include <bit>

#include "core/digest.h"
#include "core/json.h"

namespace wdelta {

namespace {

constexpr unsigned kDigitBits = 11;
constexpr size_t kBuckets = size_t{1} << kDigitBits;
constexpr size_t kManyValues = 64 << 10;

std::optional<uint64_t> FindAmongFew(std::span<uint64_t> values) {
  if (values.size() <= 8) {  // the usual object of a header has three keys
    for (size_t i = 1; i < values.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (values[i] == values[j]) return values[i];
      }
    }
    return std::nullopt;
  }
  std::sort(values.begin(), values.end());
  const auto found = std::adjacent_find(values.begin(), values.end());
  return found == values.end() ? std::nullopt : std::optional(*found);
}

// Parts `values` by the digit below bit `top` in place ("American flag sort"), then looks into each part. Where an
// enemy made all hashes alike in one digit, the next digits part them: no input costs more than six rounds.
std::optional<uint64_t> FindAmongMany(std::span<uint64_t> values, unsigned top) {
  if (values.size() <= 512) return FindAmongFew(values);
  if (top == 0) return values[0];  // all bits are the same
  const unsigned shift = top > kDigitBits ? top - kDigitBits : 0;
  const auto digit = [&](uint64_t value) { return value >> shift & (kBuckets - 1); };

  std::array<uint32_t, kBuckets> next{}, ends;
  for (const uint64_t value : values) ++next[digit(value)];
  uint32_t sum = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    const uint32_t count = next[i];
    next[i] = sum;
    ends[i] = sum += count;
  }
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
    while (next[bucket] < ends[bucket]) {
      uint64_t value = values[next[bucket]];
      for (size_t home = digit(value); home != bucket; home = digit(value)) std::swap(value, values[next[home]++]);
      values[next[bucket]++] = value;
    }
  }
  uint32_t begin = 0;
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
    if (auto found = FindAmongMany(values.subspan(begin, ends[bucket] - begin), shift)) return found;
    begin = ends[bucket];
  }
  return std::nullopt;
}

// Moves those values to the front that share some of their bits with another one, and returns them: all that occur
// twice, and one in ten of the rest. Two passes over a table of bits, which do not wait for memory as parting does.
std::span<uint64_t> KeepSuspects(std::span<uint64_t> values) {
  const size_t table_bits = std::min<size_t>(std::bit_ceil(values.size() * 8), size_t{1} << 27);
  std::vector<uint64_t> seen(table_bits / 64), seen_again(table_bits / 64);
  constexpr size_t kAhead = 16;  // values to look ahead, so that the table's cache lines are there in time
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t place = values[i] & (table_bits - 1);
    if (i + kAhead < values.size()) __builtin_prefetch(&seen[(values[i + kAhead] & (table_bits - 1)) / 64]);
    const uint64_t bit = uint64_t{1} << place % 64;
    if (seen[place / 64] & bit) seen_again[place / 64] |= bit;
    seen[place / 64] |= bit;
  }
  size_t kept = 0;
  for (const uint64_t value : values) {
    const size_t place = value & (table_bits - 1);
    if (seen_again[place / 64] >> place % 64 & 1) values[kept++] = value;
  }
  return values.first(kept);
}

}  // namespace

std::optional<uint64_t> FindRepeated(std::span<uint64_t> values) {
  if (values.size() > kManyValues) values = KeepSuspects(values);
  return FindAmongMany(values, 64);
}

void DuplicateKeys::Add(std::string_view key) {
  hashes_.push_back(Hash64(AsBytes(key)));
}

bool DuplicateKeys::Any() {
  return FindRepeated(hashes_).has_value();
}

}  // namespace wdelta
