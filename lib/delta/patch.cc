#include "delta/tensor_delta.h"

namespace wdelta {

namespace {

template <class T>
void Put(const BlockDelta& delta, uint8_t* block) {
  constexpr size_t kAhead = 24;  // each value goes to a place of its own in memory, so places are asked for in time
  const uint32_t* const positions = delta.positions.data();
  const size_t count = delta.positions.size();
  for (size_t i = 0; i < count; ++i) {
    if (i + kAhead < count) __builtin_prefetch(block + size_t{positions[i + kAhead]} * sizeof(T), 1);
    Store(block + size_t{positions[i]} * sizeof(T), Load<T>(delta.values.data() + i * sizeof(T)));
  }
}

}  // namespace

Result<> PatchBlock(const BlockDelta& delta, unsigned unit, MutableByteSpan block) {
  if (delta.whole) {
    if (delta.values.size() != block.size() || !delta.positions.empty()) {
      return Error{ErrorKind::kIntegrity, "new block has another length than the old one"};
    }
    std::copy(delta.values.begin(), delta.values.end(), block.begin());
    return {};
  }
  if (delta.values.size() != delta.positions.size() * unit) {
    return Error{ErrorKind::kIntegrity, "as many values as positions expected"};
  }
  for (size_t i = 1; i < delta.positions.size(); ++i) {
    if (delta.positions[i] <= delta.positions[i - 1]) return Error{ErrorKind::kIntegrity, "positions out of order"};
  }
  if (!delta.positions.empty() && delta.positions.back() >= block.size() / unit) {
    return Error{ErrorKind::kIntegrity, "position outside the block"};
  }
  WithUnit(unit, [&]<class T>(T) { Put<T>(delta, block.data()); });
  return {};
}

}  // namespace wdelta
