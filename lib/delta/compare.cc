#include <algorithm>
#include <bit>
#include <limits>

#include "delta/tensor_delta.h"

namespace wdelta {

namespace {

// The inner loop keeps its count in the type that it compares, so that the compiler turns it into one vector compare
// and one vector subtraction; it is cut before such a count could overflow.
template <class T>
uint64_t CountAs(const uint8_t* old_bytes, const uint8_t* new_bytes, size_t units) {
  using Count = std::conditional_t<sizeof(T) == 1, uint8_t, std::conditional_t<sizeof(T) == 2, uint16_t, T>>;
  constexpr size_t kRun = std::min<size_t>(std::numeric_limits<Count>::max(), 1 << 14);
  uint64_t total = 0;
  for (size_t at = 0; at < units; at += kRun) {
    const size_t run = std::min(kRun, units - at);
    Count count = 0;
    for (size_t i = at; i < at + run; ++i) {
      const T a = Load<T>(old_bytes + i * sizeof(T)), b = Load<T>(new_bytes + i * sizeof(T));
      count = static_cast<Count>(count + (a != b));
    }
    total += count;
  }
  return total;
}

// Calls found(unit index) for each unit that differs, in ascending order. Looks at 64 bytes at a time, because most
// such stretches are equal.
template <class T, class Found>
void Scan(ByteSpan old_bytes, ByteSpan new_bytes, Found found) {
  const uint8_t *a = old_bytes.data(), *b = new_bytes.data();
  const size_t size = old_bytes.size();
  constexpr unsigned kBits = 8 * sizeof(T);
  size_t at = 0;
  for (; at + 64 <= size; at += 64) {
    uint64_t words[8], any = 0;
    for (unsigned w = 0; w < 8; ++w) {
      words[w] = Load<uint64_t>(a + at + 8 * w) ^ Load<uint64_t>(b + at + 8 * w);
      any |= words[w];
    }
    if (any == 0) continue;
    for (unsigned w = 0; w < 8; ++w) {
      for (uint64_t bits = words[w]; bits != 0;) {
        const unsigned lane = static_cast<unsigned>(std::countr_zero(bits)) / kBits;
        found((at + 8 * w) / sizeof(T) + lane);
        if constexpr (kBits == 64) break;
        bits &= ~(uint64_t{std::numeric_limits<T>::max()} << (lane * kBits % 64));
      }
    }
  }
  for (; at < size; at += sizeof(T)) {
    if (Load<T>(a + at) != Load<T>(b + at)) found(at / sizeof(T));
  }
}

}  // namespace

uint64_t CountChanged(ByteSpan old_bytes, ByteSpan new_bytes, unsigned unit) {
  return WithUnit(
      unit, [&]<class T>(T) { return CountAs<T>(old_bytes.data(), new_bytes.data(), old_bytes.size() / sizeof(T)); });
}

namespace {

// Lists changes from unit `first` on.
void AppendChanges(ByteSpan old_block, ByteSpan new_block, unsigned unit, size_t first, BlockDelta& delta) {
  WithUnit(unit, [&]<class T>(T) {
    Scan<T>(old_block, new_block,
            [&](size_t index) { delta.positions.push_back(static_cast<uint32_t>(first + index)); });
  });
}

void TakeValues(ByteSpan new_block, unsigned unit, BlockDelta& delta) {
  delta.values.resize(delta.positions.size() * unit);
  WithUnit(unit, [&]<class T>(T) {
    for (size_t i = 0; i < delta.positions.size(); ++i) {
      Store(delta.values.data() + i * sizeof(T), Load<T>(new_block.data() + delta.positions[i] * sizeof(T)));
    }
  });
}

}  // namespace

uint64_t ListChanges(ByteSpan old_block, ByteSpan new_block, unsigned unit, BlockDelta& delta) {
  delta.Clear();
  AppendChanges(old_block, new_block, unit, 0, delta);
  TakeValues(new_block, unit, delta);
  return delta.positions.size();
}

uint64_t CompareBlock(ByteSpan old_block, ByteSpan new_block, unsigned unit, BlockDelta& delta) {
  constexpr size_t kPiece = 64 << 10;
  delta.Clear();
  for (size_t at = 0; at < old_block.size(); at += kPiece) {
    const size_t length = std::min(kPiece, old_block.size() - at);
    AppendChanges(old_block.subspan(at, length), new_block.subspan(at, length), unit, at / unit, delta);
    if (delta.positions.size() <= old_block.size() / unit / 2) continue;
    delta.Clear();
    delta.whole = true;
    delta.values.assign(new_block.begin(), new_block.end());
    return CountChanged(old_block, new_block, unit);
  }
  TakeValues(new_block, unit, delta);
  return delta.positions.size();
}

}  // namespace wdelta
