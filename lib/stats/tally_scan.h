// The hot loop of a tally, for elements of two bytes: one pass over a piece finds out how many old elements have each
// exponent, and which elements changed. The form for AVX2 is here because a report must not take much longer than a
// comparison that only counts; it finds what the portable form finds.
//
// Elements are counted without a branch for each: the exponents of 32 elements become bytes, each byte one bit in one
// of two bytes (sixteen neighbouring exponents, the window), and bits in the same place are added up over many bytes by
// full adders, as populations are counted. What lies outside the window is counted one by one; the caller puts it where
// most weights are.
#pragma once

#include <vector>

#include "delta/tensor_delta.h"

namespace wdelta {

inline constexpr unsigned kScanWindow = 16;    // exponents
inline constexpr size_t kScanGroup = 16 * 64;  // bytes: a piece is scanned in groups of this

struct ScanResult {
  std::vector<uint32_t> exponents;  // by exponent field, how many elements; the caller sets size and zeros
  std::vector<uint32_t> changed;    // a bit for each element, 32 in each
};

// Scans the first `bytes` of both, a multiple of kScanGroup, and adds to `result`. `form` has two bytes. Only where
// HasAvx2().
void ScanByAvx2(const uint8_t* old_bytes, const uint8_t* new_bytes, size_t bytes, const FloatForm& form,
                unsigned window, ScanResult& result);

// The places of the bits that are set, rising. Only where HasAvx2().
void ListBits(const std::vector<uint32_t>& words, std::vector<uint32_t>& places);

// The first exponent of the window that holds the most elements.
unsigned BestWindow(const std::vector<uint32_t>& exponents);

}  // namespace wdelta
