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
std::string ByteSize(uint64_t bytes);                         // "1.2 GiB"
inline constexpr const char* kByteUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
// `value` divided by `step` until it is below `limit`, at most six times, and how often it was.
std::pair<double, size_t> ScaledDown(double value, double step, double limit);
std::string ShapeText(const std::vector<uint64_t>& shape);  // "[4, 1024]"
std::string ShortId(const std::string& hex);                // the first 12 digits; "?" when not computed
std::string Duration(double seconds);                       // "0:07", "1:02:03"

// The one way to write a share: "0.98 %", with two decimals; "-" of nothing; never a false 0 or 100, but "<0.01 %" and
// ">99.99 %".
//
// With `digits`, a share below one per cent, or less than one per cent short of all, gets as many decimals as it takes
// to show so many digits of what is there, or of what is missing: with 3, "0.00420 %" and "99.99958 %". Below a
// hundred-thousandth of a per cent that is "1.43e-08 %", or ">99.99999 %".
std::string Percent(uint64_t part, uint64_t whole, int digits = 0);

// "3 of 436 elements changed (0.69 %)"; `digits` as for Percent, here and below.
std::string ChangedText(uint64_t changed, uint64_t total, std::string_view noun, int digits = 0);
// "3 of 436 elements changed (0.69 %), in 2 of 4 tensors; 0 added, 0 removed; 1 other file changed"
std::string TotalsText(const Totals& totals, int digits = 0);
// "3fa9c2d1e0f4 -> 81b0de77a1c2", or the second alone when there is no base.
std::string StatesText(const Identity& base, const Identity& result);
std::string RecordName(const RecordInfo& record);  // "record 17 (step 101)"

}  // namespace wdelta
