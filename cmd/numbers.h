// Figures for people. (Machines get them bare, see json_fields.h.)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wdelta.h"

namespace wdelta {

std::string Grouped(uint64_t number);                         // 1,234,567
std::string Counted(uint64_t number, std::string_view noun);  // "1 tensor", "1,234 tensors"
double PartOf(uint64_t part, uint64_t whole);                 // 0 of nothing
std::string Percent(uint64_t part, uint64_t whole);           // "0.98 %"; "-" of nothing; never a false 0 or 100
std::string ByteSize(uint64_t bytes);                         // "1.2 GiB"
std::string ShapeText(const std::vector<uint64_t>& shape);    // "[4, 1024]"
std::string ShortId(const std::string& hex);                  // the first 12 digits; "?" when not computed
std::string Duration(double seconds);                         // "0:07", "1:02:03"

// "3 of 436 elements changed (0.69 %), in 2 of 4 tensors; 0 added, 0 removed; 1 other file changed"
std::string TotalsText(const Totals& totals);
// "3fa9c2d1e0f4 -> 81b0de77a1c2", or the second alone when there is no base.
std::string StatesText(const Identity& base, const Identity& result);

}  // namespace wdelta
