#include "codec/events.h"

#include <algorithm>

namespace wdelta {

namespace {

constexpr unsigned kMaxRunCode = 7;  // code r > 0: runs of 64 << (r - 1) elements

// A base-two logarithm in 1/65536, by integers alone, so that every machine makes the same choices.
uint64_t Log2(uint64_t x) {
  const auto whole = static_cast<unsigned>(std::bit_width(x)) - 1;
  uint64_t fraction = x << (63 - whole) >> 32, result = whole;  // 1.31
  for (int i = 0; i < 16; ++i) {
    fraction = fraction * fraction >> 31;
    result = result << 1 | fraction >> 32;
    fraction >>= fraction >> 32;
  }
  return result;
}

// About what it costs to say which m of n things are special.
uint64_t ChoiceCost(uint64_t n, uint64_t m) {
  if (m == 0 || m == n) return 0;
  return m * (Log2(n) - Log2(m)) + (n - m) * (Log2(n) - Log2(n - m));
}

// The length of runs, as a code, whose flags pay for themselves; 0 for none.
unsigned ChooseRuns(uint64_t units, std::span<const uint32_t> positions) {
  uint64_t best = ChoiceCost(units, positions.size());
  best -= best / 128;  // a gain that small is noise
  unsigned best_code = 0;
  for (unsigned code = 1; code <= kMaxRunCode; ++code) {
    const unsigned shift = code + 5;
    uint64_t active = 0, last = ~uint64_t{0};
    for (const uint32_t position : positions) {
      active += position >> shift != last;
      last = position >> shift;
    }
    const uint64_t runs = ((units - 1) >> shift) + 1, active_units = std::min(active << shift, units);
    const uint64_t cost = ChoiceCost(runs, active) + ChoiceCost(active_units, positions.size());
    if (cost < best) {
      best = cost;
      best_code = code;
    }
  }
  return best_code;
}

// A word of ones for each 64 elements that lie in one of `active_runs`; all of them for code 0.
std::vector<uint64_t> ActiveWords(uint64_t units, unsigned code, std::span<const uint32_t> active_runs) {
  std::vector<uint64_t> words((units + 63) / 64, code == 0 ? ~uint64_t{0} : 0);
  for (const uint32_t run : active_runs) {
    const uint64_t begin = uint64_t{run} << (code - 1),
                   end = std::min<uint64_t>(begin + (uint64_t{1} << (code - 1)), words.size());
    std::fill(words.begin() + static_cast<ptrdiff_t>(begin), words.begin() + static_cast<ptrdiff_t>(end), ~uint64_t{0});
  }
  return words;
}

}  // namespace

unsigned RiceParameter(uint64_t n, uint64_t m) {
  const uint64_t x = (50 * (n - m) + 19 * m) / (50 * m);
  return x == 0 ? 0 : std::min(static_cast<unsigned>(std::bit_width(x)) - 1, kMaxRice);
}

void PutEvents(BitWriter& out, uint64_t n, std::span<const uint32_t> events) {
  if (n == 0) return;
  out.Bits(events.size(), static_cast<unsigned>(std::bit_width(n)));
  const bool others = events.size() > n / 2;
  const uint64_t listed = others ? n - events.size() : events.size();
  if (listed == 0) return;
  const unsigned k = RiceParameter(n, listed);
  uint64_t next = 0;
  if (!others) {
    for (const uint32_t event : events) {
      out.Rice(event - next, k);
      next = uint64_t{event} + 1;
    }
    return;
  }
  auto event = events.begin();
  for (uint64_t i = 0; i < n; ++i) {
    if (event != events.end() && *event == i) {
      ++event;
      continue;
    }
    out.Rice(i - next, k);
    next = i + 1;
  }
}

Result<std::vector<uint32_t>> TakeEvents(BitReader& in, uint64_t n) {
  std::vector<uint32_t> events;
  if (n == 0) return events;
  const uint64_t count = in.Bits(static_cast<unsigned>(std::bit_width(n)));
  if (count > n) return Error{ErrorKind::kIntegrity, "more events than places"};
  const bool others = count > n / 2;
  const uint64_t listed = others ? n - count : count;
  if (listed > in.bits_left()) return Error{ErrorKind::kIntegrity, "ends too early"};
  events.reserve(count);
  const unsigned k = listed ? RiceParameter(n, listed) : 0;
  uint64_t next = 0;
  for (uint64_t i = 0; i < listed; ++i) {
    const uint64_t gap = in.Rice(k);
    if (gap >= n - next) return Error{ErrorKind::kIntegrity, "event outside its range"};
    for (uint64_t other = next; others && other < next + gap; ++other) events.push_back(static_cast<uint32_t>(other));
    next += gap + 1;
    if (!others) events.push_back(static_cast<uint32_t>(next - 1));
  }
  for (; others && next < n; ++next) events.push_back(static_cast<uint32_t>(next));
  return events;
}

std::vector<uint64_t> PutActiveRuns(BitWriter& out, uint64_t units, std::span<const uint32_t> positions) {
  const unsigned code = ChooseRuns(units, positions);
  out.Bits(code, 3);
  std::vector<uint32_t> active_runs;
  if (code > 0) {
    for (const uint32_t position : positions) {
      const uint32_t run = position >> (code + 5);
      if (active_runs.empty() || active_runs.back() != run) active_runs.push_back(run);
    }
    PutEvents(out, ((units - 1) >> (code + 5)) + 1, active_runs);
  }
  return ActiveWords(units, code, active_runs);
}

Result<std::vector<uint64_t>> TakeActiveRuns(BitReader& in, uint64_t units) {
  const auto code = static_cast<unsigned>(in.Bits(3));
  std::vector<uint32_t> active_runs;
  if (code > 0) {
    WD_ASSIGN(active_runs, TakeEvents(in, ((units - 1) >> (code + 5)) + 1));
  }
  return ActiveWords(units, code, active_runs);
}

}  // namespace wdelta
