// The colours of the heat map, from little to much.
//
// Lightness falls or rises evenly from one end to the other, so that the order can be seen without any sense of colour,
// and on grey paper; hue runs from yellow over green to blue, which the common kinds of colour blindness keep apart.
// On a light page much is dark, on a dark page much is bright: the eye goes to what differs from the page.
//
// Cells do not carry colours but the class of their step (h0, h1, ...), so that one picture serves both kinds of page.
#pragma once

#include <string>

namespace wdelta {

inline constexpr int kHeatSteps = 24;

// The step for a position between 0 and 1.
int HeatStep(double position);

// The style sheet of the picture. Complete without the page's own, because the picture also stands alone; all its
// selectors begin with the class of the picture, because it also stands in the page.
std::string HeatMapStyle();

}  // namespace wdelta
