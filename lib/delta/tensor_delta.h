// The difference between two versions of a tensor, one block at a time. This header is what the room hands on; it
// brings along what the room received.
//
// A delta holds new values, never differences: patching twice equals patching once, and of two deltas the later wins.
// Bit patterns are compared, not numbers: -0.0 is not 0.0, and a NaN equals itself if its bits do.
#pragma once

#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "core/words.h"

namespace wdelta {

// What changed in one block. A unit is one element, or one byte of a type smaller than a byte (UnitBytes).
struct BlockDelta {
  bool whole = false;               // all of the block is new: `values` is the block, `positions` is empty
  std::vector<uint32_t> positions;  // of the changed units in the block, ascending
  Bytes values;                     // their new values, one after the other

  void Clear() {
    whole = false;
    positions.clear();
    values.clear();
  }
};

// One tensor of a delta's result that is not simply the base's.
struct TensorRecord {
  std::string name;
  ChangeKind kind = ChangeKind::kChanged;  // kChanged, kAdded, kReshaped or kRetyped
  Dtype dtype = Dtype::kU8;
  std::vector<uint64_t> shape;
  Dtype old_dtype = Dtype::kU8;  // reshaped or retyped: what it was
  std::vector<uint64_t> old_shape;
  uint64_t ordinal = 0;  // its place in the name order of the result's tensors
  uint64_t units_changed = 0;
  uint32_t digest = 0;  // ShortTensorDigest of the new tensor

  // Its content builds on the base's; otherwise all of it is in the delta.
  bool HasBase() const { return kind == ChangeKind::kChanged; }
};

// Calls f with a value of the unsigned type of `unit` bytes (1, 2, 4 or 8): f is for all of them, [&]<class T>(T) {}.
template <class F>
auto WithUnit(unsigned unit, const F& f) {
  switch (unit) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    default:
      return f(uint64_t{});
  }
}

// Finding what changed (compare.cc). Each span has the same length, a multiple of `unit` (1, 2, 4 or 8); each function
// returns how many units differ.
uint64_t CountChanged(ByteSpan old_block, ByteSpan new_block, unsigned unit);
// Lists every one of them.
uint64_t ListChanges(ByteSpan old_block, ByteSpan new_block, unsigned unit, BlockDelta& delta);
// Lists them, or makes the delta `whole` if more than half of the units changed: that many positions are longer than
// the block.
uint64_t CompareBlock(ByteSpan old_block, ByteSpan new_block, unsigned unit, BlockDelta& delta);

// The way back (patch.cc): puts the delta's values into `block`, which holds the old bytes. Fails with kIntegrity,
// before the first write, if the delta does not fit: a position outside the block or out of order, or the wrong number
// of values.
Result<> PatchBlock(const BlockDelta& delta, unsigned unit, MutableByteSpan block);

}  // namespace wdelta
