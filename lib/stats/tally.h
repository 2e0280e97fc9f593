// Counting more about changes than their number: how large the changed weights were, how far they moved, which rows
// they sit in, and what is no number any more. Reports are made from this; nothing that is written or rebuilt depends
// on it.
//
// It runs beside a comparison at the speed of memory, so it does as little as it can for each unchanged element: one
// count by exponent. All else is looked at only where something changed; what became NaN is told from what was NaN in
// the base, and from the changes.
#pragma once

#include <array>
#include <vector>

#include "stats/tally_scan.h"
#include "stats_report.h"

namespace wdelta {

// Sums over any blocks, in any order.
struct TallyTotals {
  struct ByExponent {
    std::vector<uint64_t> elements, changed;  // by the exponent field of the old element
  };
  std::array<ByExponent, kDtypeCount> exponents;  // empty for types without exponents, and where none was seen
  // By steps in the order of the numbers, from one bit pattern to the next: [0] one step, [1] two, [2] three or four,
  // [3] five to eight, and so on.
  enum Direction { kUp, kDown };
  std::array<std::array<uint64_t, 65>, 2> steps{};

  void Add(const TallyTotals& other);
};

// Runs of units (rows) that have a change, counted over neighbouring blocks: a run may lie in two of them.
struct TouchedRuns {
  uint64_t count = 0, first = 0, last = 0;  // number of the first and the last one, if there is any

  void Touch(uint64_t run);                 // not before the last
  void Append(const TouchedRuns& follows);  // of what comes after
};

// Of one block, or of neighbouring ones that were appended.
struct BlockTally : NumberTally {
  uint64_t units_changed = 0;
  TouchedRuns rows;
  std::vector<uint32_t> slices;  // with a change, rising

  void Append(const BlockTally& follows);
};

// A block, or a piece of one, with its place in the tensor. `old_block` is empty if the base has no such tensor.
struct TallyPiece {
  ByteSpan old_block, new_block;
  Dtype dtype = Dtype::kU8;
  uint64_t first_unit = 0;  // of the tensor
  uint64_t columns = 1;     // units in a row, at least 1
  uint64_t slice = 0;       // units in a slice of the first dimension; 0: slices are not asked for
};

// Counts pieces. For one thread at a time; keeps its memory from piece to piece.
class Tally {
 public:
  // Both find the same. kFastest takes AVX2 where the processor has it, for elements of two bytes.
  enum class Speed { kFastest, kPortable };
  explicit Tally(Speed speed = Speed::kFastest) : speed_(speed) {}

  BlockTally Count(const TallyPiece& piece);
  const TallyTotals& totals() const { return totals_; }

 private:
  void ScanPortably(const TallyPiece& piece, const std::optional<FloatForm>& form);
  void ScanFast(const TallyPiece& piece, const FloatForm& form);
  void AddExponents(const TallyPiece& piece, const FloatForm& form, BlockTally& out);

  Speed speed_;
  TallyTotals totals_;
  BlockDelta changes_;
  ScanResult scan_;
  std::array<std::optional<unsigned>, kDtypeCount> windows_;  // where most elements of the last piece were
};

}  // namespace wdelta
