// The frame of a small chart: a plot with a scale at its left, as an <svg> of the page's style. Pixels are those of the
// picture, 520 wide, which the page shows at about that size.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stats/stats_page_scale.h"

namespace wdelta {

class Chart {
 public:
  static constexpr double kWidth = 520, kLeft = 66, kRight = 512;

  // `label` is what the picture shows, for those who cannot see it; HTML.
  Chart(std::string label, double height) : label_(std::move(label)), height_(height) {}

  void Text(double x, double y, std::string_view anchor, std::string_view text);  // start, middle or end
  void Title(double y, std::string_view text);
  void GridLine(double y, std::string_view value);  // across the plot, with its value at the left
  void BaseLine(double y);
  void Add(const std::string& element) { body_ += element + '\n'; }
  // A part of the plot that shows `tooltip` when it is pointed at, and takes the place of none.
  void Hover(double x, double width, double top, double bottom, std::string_view tooltip);

  std::string Svg() const;

 private:
  std::string label_, body_;
  double height_;
};

// The grid of a plot of shares from `top` to `bottom`, with a line for zero `kZeroRoom` below its end, because a
// logarithm has no place for it.
inline constexpr double kZeroRoom = 18;
void DrawShareGrid(Chart* chart, const LogScale& scale, double top, double bottom);
double ShareHeight(const LogScale& scale, double share, double top, double bottom);

}  // namespace wdelta
