// Axes: where a value lies between two round ends, and which values get a mark.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wdelta {

// Shares differ by powers of ten, so shares are drawn by their logarithm. The ends are round numbers (1, 2 or 5 times a
// power of ten) around the values, at least a factor of ten apart, so that a small difference does not look like a
// large one, and at most a factor of a million, so that one odd value does not make all others look alike.
struct LogScale {
  double low = 0.01, high = 1;
  double Position(double value) const;  // 0 at `low` or below, 1 at `high`
  std::vector<double> Ticks() const;    // round values from low to high, both among them
};
LogScale LogScaleAround(double least, double most);  // both above zero, at most one

// From zero to a round number, for counts of bytes.
struct ByteScale {
  double high = 1;
  std::vector<std::pair<double, std::string>> ticks;  // with their names: zero and `high` among them
};
ByteScale ByteScaleUpTo(uint64_t most);

}  // namespace wdelta
