// Elements of a block by class. How likely a weight is to change depends on its magnitude: it halves with each octave
// of fp32-master training, and is a hard gate in pure bf16. So elements are put into classes by the exponent of their
// old value, and everything is counted within a class. Whoever decodes has the old values, so classes cost nothing to
// say.
//
// The scan goes over a block once and counts the members of each class on the way. It is the hot loop of encoder and
// decoder; it has a form for AVX2 (class_scan_avx2.cc) and a portable one that must find the same.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "delta/tensor_delta.h"

namespace wdelta {

// How to see an exponent in an element: (element >> shift) & mask. Types without one have mask 0: all in one class.
struct ExponentField {
  unsigned shift = 0;
  uint32_t mask = 0;
};
ExponentField ExponentOf(Dtype dtype);

inline constexpr unsigned kMaxClasses = 16;

// Classes of neighbouring exponents: exponents up to `first` are class 0, first + 1 is class 1, and so on; the last
// class also has all larger ones.
struct ClassMap {
  ExponentField field;
  uint32_t first = 0;
  unsigned count = 1;

  unsigned Of(uint64_t element) const {
    const auto exponent = static_cast<uint32_t>(element >> field.shift) & field.mask;
    return exponent <= first ? 0 : std::min(exponent - first, count - 1);
  }
};

// The members of each class, as far as a caller listed some of them by their number within the class.
using ClassRanks = std::array<std::vector<uint32_t>, kMaxClasses>;  // rising numbers, for each class
using ClassCounts = std::array<uint32_t, kMaxClasses>;

// What is scanned: elements of `unit` bytes. `active` has a word for each 64 elements: zero if none of them belongs to
// any class, because nothing in that run changed; else all ones.
struct ScanInput {
  ByteSpan block;
  unsigned unit;
  ClassMap map;
  std::span<const uint64_t> active;
};

class ClassScan {
 public:
  // Which form of the scan to use; both find the same. kFastest takes AVX2 where the processor has it.
  enum class Form { kFastest, kPortable };

  explicit ClassScan(const ScanInput& in, Form form = Form::kFastest);

  // Appends to ranks[class] the number within its class of each element in `positions` (rising, in active runs).
  // Returns how many members each class has.
  ClassCounts Rank(std::span<const uint32_t> positions, ClassRanks& ranks) const;

  // The reverse: fills `found` with the listed members, and as values the elements as they are in the block; for the
  // classes whose bit is set in `complement`, with the members that are not listed. If that makes more than `most`,
  // `found` is left empty. Returns how many members each class has; a listed number at or above that was not found.
  ClassCounts Select(const ClassRanks& ranks, uint32_t complement, uint64_t most, BlockDelta& found) const;

 private:
  ScanInput in_;
  bool fast_;
};

}  // namespace wdelta
