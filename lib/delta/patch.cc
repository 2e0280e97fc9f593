#include "delta/tensor_delta.h"

namespace wdelta {

namespace {

template <class T>
void Put(const BlockDelta& delta, uint8_t* block) {
  for (size_t i = 0; i < delta.positions.size(); ++i) {
    Store(block + size_t{delta.positions[i]} * sizeof(T), Load<T>(delta.values.data() + i * sizeof(T)));
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
  switch (unit) {
    case 1:
      Put<uint8_t>(delta, block.data());
      break;
    case 2:
      Put<uint16_t>(delta, block.data());
      break;
    case 4:
      Put<uint32_t>(delta, block.data());
      break;
    default:
      Put<uint64_t>(delta, block.data());
      break;
  }
  return {};
}

}  // namespace wdelta
