// What changed, told class by class. Elements are put into classes by the exponent of their old value (class_scan.h);
// within a class the changed members are told by the gaps between them, counted in members, and the size of the step
// by which members differ is near the same. Runs in which nothing changed at all can be left out of all classes first,
// because idle rows and idle experts cluster the changes. wdelta-format(5) has the bits.
//
// Tried on the way: an adaptive arithmetic coder for all of this is 2 % smaller and ten times slower (see adaptive.cc).
#include <array>

#include "codec/class_scan.h"
#include "codec/codec.h"
#include "codec/events.h"

namespace wdelta {

namespace {

constexpr unsigned kExponentBits = 11;

// The classes that suit the changes: one for each exponent that has a fair share of them, the rest at both ends.
template <class T>
ClassMap ChooseClasses(const BlockChange& change) {
  ClassMap map{ExponentOf(change.dtype), 0, 1};
  if (map.field.mask == 0) return map;
  std::vector<uint32_t> changed(map.field.mask + 1);
  for (const uint32_t position : change.delta.positions) {
    const T value = Load<T>(change.old_block.data() + size_t{position} * sizeof(T));
    ++changed[static_cast<uint32_t>(value >> map.field.shift) & map.field.mask];
  }
  const uint64_t total = change.delta.positions.size();
  uint64_t below = 0, above = 0;
  while (map.first < map.field.mask && (below += changed[map.first]) * 128 < total) ++map.first;
  uint32_t last = map.field.mask;  // the highest exponent with more than a trace of the changes
  while (last > map.first && (above += changed[last]) * 2048 < total) --last;
  if (last - map.first + 2 > kMaxClasses) map.first = last + 2 - kMaxClasses;
  map.count = std::min(last - map.first + 2, map.field.mask - map.first + 1);
  return map;
}

// Gaps between listed members, with the parameter that suits them best.
void PutMembers(BitWriter& out, std::span<const uint32_t> listed) {
  const auto width = static_cast<unsigned>(std::bit_width(listed.size()));
  out.Bits(width, 5);
  if (width == 0) return;
  out.Bits(listed.size(), width - 1);  // without its leading one
  const unsigned guess = RiceParameter(uint64_t{listed.back()} + 1, listed.size());
  const unsigned lowest = guess > 0 ? guess - 1 : 0, highest = std::min(guess + 1, kMaxRice);
  uint64_t zeros[3] = {};  // for each parameter from `lowest` on
  uint32_t expected = 0;
  for (const uint32_t member : listed) {
    const uint32_t gap = member - expected;
    for (unsigned i = 0; i < 3; ++i) zeros[i] += gap >> (lowest + i);
    expected = member + 1;
  }
  unsigned best = lowest;
  const auto cost = [&](unsigned k) { return zeros[k - lowest] + k * listed.size(); };
  for (unsigned k = lowest + 1; k <= highest; ++k) best = cost(k) < cost(best) ? k : best;
  out.Bits(best, 5);
  uint64_t next = 0;
  for (const uint32_t member : listed) {
    out.Rice(member - next, best);
    next = uint64_t{member} + 1;
  }
}

Result<> TakeMembers(BitReader& in, uint64_t units, std::vector<uint32_t>& listed) {
  const auto width = static_cast<unsigned>(in.Bits(5));
  if (width == 0) return {};
  const uint64_t count = uint64_t{1} << (width - 1) | in.Bits(width - 1);
  const auto k = static_cast<unsigned>(in.Bits(5));
  if (count > units || count > in.bits_left()) return Error{ErrorKind::kIntegrity, "too many members"};
  if (k > kMaxRice) return Error{ErrorKind::kIntegrity, "a Rice parameter out of range"};
  listed.resize(count);
  uint32_t *to = listed.data(), *const end = to + count;
  uint64_t next = 0;
  while (to != end) {
    uint64_t gaps[3];
    size_t taken = 3;
    if (end - to < 3 || !in.ThreeRice(k, gaps)) {
      gaps[0] = in.Rice(k);
      taken = 1;
      if (gaps[0] >= units) return Error{ErrorKind::kIntegrity, "member outside the block"};
    }
    for (size_t i = 0; i < taken; ++i, ++to) {
      *to = static_cast<uint32_t>(next + gaps[i]);
      next += gaps[i] + 1;
    }
    if (next > units) return Error{ErrorKind::kIntegrity, "member outside the block"};
  }
  return {};
}

// Steps of one class: which are larger than one, which of these larger than two, by how much, and all signs.
template <class T>
void PutSteps(BitWriter& out, std::span<const T> steps) {
  const auto size = [](T step) { return step >> (8 * sizeof(T) - 1) ? static_cast<T>(0 - step) : step; };
  std::vector<uint32_t> above_one, above_two;
  std::vector<uint64_t> rest;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (size(steps[i]) < 2) continue;
    if (size(steps[i]) > 2) {
      above_two.push_back(static_cast<uint32_t>(above_one.size()));
      rest.push_back(uint64_t{size(steps[i])} - 3);
    }
    above_one.push_back(static_cast<uint32_t>(i));
  }
  PutEvents(out, steps.size(), above_one);
  PutEvents(out, above_one.size(), above_two);
  if (!rest.empty()) {
    uint64_t best_cost = ~uint64_t{0};
    unsigned best = 0;
    for (unsigned k = 0; k < 16; ++k) {
      uint64_t cost = 0;
      for (const uint64_t value : rest) cost += (value >> k) > 31 ? 96 : (value >> k) + k + 1;
      if (cost < best_cost) {
        best_cost = cost;
        best = k;
      }
    }
    out.Bits(best, 4);
    for (const uint64_t value : rest) out.Rice(value, best);
  }
  for (size_t i = 0; i < steps.size();) {
    const size_t begin = i, end = std::min(steps.size(), i + 32);
    uint64_t signs = 0;
    for (; i < end; ++i) signs |= static_cast<uint64_t>(steps[i] >> (8 * sizeof(T) - 1)) << (i - begin);
    out.Bits(signs, static_cast<unsigned>(end - begin));
  }
}

template <class T>
Result<> TakeSteps(BitReader& in, std::vector<T>& steps) {
  WD_ASSIGN(const std::vector<uint32_t> above_one, TakeEvents(in, steps.size()));
  WD_ASSIGN(const std::vector<uint32_t> above_two, TakeEvents(in, above_one.size()));
  for (const uint32_t i : above_one) steps[i] = 2;
  if (!above_two.empty()) {
    const auto k = static_cast<unsigned>(in.Bits(4));
    for (const uint32_t i : above_two) {
      const uint64_t rest = in.Rice(k);
      if (rest > (uint64_t{1} << (8 * sizeof(T) - 1)) - 3) return Error{ErrorKind::kIntegrity, "step too large"};
      steps[above_one[i]] = static_cast<T>(rest + 3);
    }
  }
  for (size_t i = 0; i < steps.size();) {
    const size_t run = std::min<size_t>(32, steps.size() - i);
    for (uint64_t signs = in.Bits(static_cast<unsigned>(run)), end = i + run; i < end; ++i, signs >>= 1) {
      steps[i] = static_cast<T>((steps[i] ^ static_cast<T>(0 - (signs & 1))) + (signs & 1));
    }
  }
  return {};
}

// What coding and decoding need on the way. Each thread keeps it from block to block, rather than to ask for
// dozens of small lists each time.
template <class T>
struct Scratch {
  ClassRanks ranks;
  std::array<std::vector<T>, kMaxClasses> steps;

  static Scratch& Cleared() {
    thread_local Scratch scratch;
    for (auto& each : scratch.ranks) each.clear();
    for (auto& each : scratch.steps) each.clear();
    return scratch;
  }
};

template <class T>
void Encode(const BlockChange& change, Bytes& bytes) {
  BitWriter out(bytes);
  const std::vector<uint32_t>& positions = change.delta.positions;
  const uint64_t units = change.old_block.size() / sizeof(T);
  const ClassMap map = ChooseClasses<T>(change);
  out.Bits(map.count - 1, 4);
  if (map.count > 1) out.Bits(map.first, kExponentBits);

  const std::vector<uint64_t> active = PutActiveRuns(out, units, positions);

  auto& [ranks, steps] = Scratch<T>::Cleared();
  const ClassCounts members = ClassScan({change.old_block, sizeof(T), map, active}).Rank(positions, ranks);
  for (unsigned c = 0; c < map.count; ++c) {
    const bool others = ranks[c].size() > members[c] / 2;
    out.Bits(others, 1);
    if (!others) {
      PutMembers(out, ranks[c]);
      continue;
    }
    std::vector<uint32_t> rest;
    uint32_t next = 0;
    for (const uint32_t rank : ranks[c]) {
      for (; next < rank; ++next) rest.push_back(next);
      next = rank + 1;
    }
    for (; next < members[c]; ++next) rest.push_back(next);
    PutMembers(out, rest);
  }
  for (size_t i = 0; i < positions.size(); ++i) {
    const T old_value = Load<T>(change.old_block.data() + size_t{positions[i]} * sizeof(T));
    steps[map.Of(old_value)].push_back(static_cast<T>(Load<T>(change.delta.values.data() + i * sizeof(T)) - old_value));
  }
  for (unsigned c = 0; c < map.count; ++c) PutSteps<T>(out, steps[c]);
  out.Finish();
}

template <class T>
Result<> Decode(ByteSpan coded, const BlockFrame& frame, BlockDelta& delta) {
  BitReader in(coded);
  const uint64_t units = frame.new_bytes / sizeof(T);
  ClassMap map{ExponentOf(frame.dtype), 0, 1};
  map.count = static_cast<unsigned>(in.Bits(4)) + 1;
  if (map.count > 1) map.first = static_cast<uint32_t>(in.Bits(kExponentBits));
  if (uint64_t{map.first} + map.count - 1 > map.field.mask) return Error{ErrorKind::kIntegrity, "classes out of range"};
  WD_ASSIGN(const std::vector<uint64_t> active, TakeActiveRuns(in, units));

  auto& [ranks, steps] = Scratch<T>::Cleared();
  uint32_t others = 0;
  for (unsigned c = 0; c < map.count; ++c) {
    others |= static_cast<uint32_t>(in.Bits(1)) << c;
    WD_TRY(TakeMembers(in, units, ranks[c]));
  }
  const ClassCounts members = ClassScan({frame.old_block, sizeof(T), map, active})
                                  .Select(ranks, others, in.bits_left(), delta);  // each has a sign
  std::array<const T*, kMaxClasses> next{};
  for (unsigned c = 0; c < map.count; ++c) {
    if (!ranks[c].empty() && ranks[c].back() >= members[c])
      return Error{ErrorKind::kIntegrity, "member outside its class"};
    const size_t changed = others >> c & 1 ? members[c] - ranks[c].size() : ranks[c].size();
    if (changed > in.bits_left()) return Error{ErrorKind::kIntegrity, "ends too early"};
    steps[c].assign(changed, 1);
    WD_TRY(TakeSteps<T>(in, steps[c]));
    next[c] = steps[c].data();
  }
  if (!in.AtEnd()) return Error{ErrorKind::kIntegrity, "has another length than its content"};
  for (uint8_t *value = delta.values.data(), *end = value + delta.values.size(); value != end; value += sizeof(T)) {
    const T old_value = Load<T>(value);
    Store(value, static_cast<T>(old_value + *next[map.Of(old_value)]++));
  }
  return {};
}

bool EncodeClasses(const BlockChange& change, Level, Bytes& out) {
  if (change.old_block.size() != change.new_block.size() || change.delta.whole || change.delta.positions.empty() ||
      !EveryListedChanged(change)) {
    return false;
  }
  WithUnit(UnitBytes(change.dtype), [&]<class T>(T) { Encode<T>(change, out); });
  return true;
}

Result<> DecodeClasses(ByteSpan coded, const BlockFrame& frame, BlockDelta& delta) {
  delta.Clear();
  if (frame.old_block.size() != frame.new_bytes || frame.new_bytes == 0) {
    return Error{ErrorKind::kIntegrity, "coded against an old block that is not there"};
  }
  return WithUnit(UnitBytes(frame.dtype), [&]<class T>(T) { return Decode<T>(coded, frame, delta); });
}

}  // namespace

const Codec kClassesCodec{3, "classes", EncodeClasses, DecodeClasses};

}  // namespace wdelta
