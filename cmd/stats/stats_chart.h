// The small charts of the page: slots side by side, one for each record or for each magnitude of weights. In a slot a
// share is a point on a logarithmic scale, and an amount is a column that begins at zero. A chart may have a plot of
// either kind, or of both above one another.
//
// Texts are given as they are; the chart makes them harmless. Pixels are those of the picture, which is 520 wide and
// which the page shows at about that size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
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
// Around all of these that are above zero; a scale to look at if none is.
LogScale LogScaleAround(const std::vector<double>& shares);

// Values of an axis with their names, rising; the last is the top of the plot.
using Ticks = std::vector<std::pair<double, std::string>>;
Ticks ByteTicks(uint64_t most);  // three to five round ones

struct ChartSlot {
  std::string name;             // below the axis; empty where there is no room for all
  std::string tooltip;          // of the whole slot
  std::optional<double> share;  // absent: there is no point
  double amount = 0;            // 0: there is no column
  bool is_joined = true;        // a line leads to the neighbour
  bool is_marked = false;       // by a triangle below the axis
};

class Chart {
 public:
  // `label` is what the picture shows, for readers who cannot see it.
  Chart(std::string label, std::vector<ChartSlot> slots) : label_(std::move(label)), slots_(std::move(slots)) {}

  // Each adds a plot of this height below what is there.
  void AddShares(const std::string& title, double height);
  void AddAmounts(const std::string& title, const Ticks& ticks, double height);
  // The picture, with the names of the slots and of the axis below the last plot.
  std::string Svg(const std::string& axis) const;

 private:
  void BeginPlot(const std::string& title, double height);
  void GridLine(double y, const std::string& value);
  void EndPlot();  // the line at its lower edge, which is zero
  double SlotWidth() const;
  double MiddleOf(size_t slot) const;

  std::string label_;
  std::vector<ChartSlot> slots_;
  std::string body_;
  double top_ = 0, bottom_ = 0;  // of the last plot
};

}  // namespace wdelta
