// What StatsHtml (stats_view.h) puts around and beside the parts of a report: charts, the style sheet and the script.
//
// Charts are SVG; bars are cells of tables, so that they shrink with the window and can be read aloud.
#pragma once

#include <string>
#include <string_view>

#include "wdelta.h"

namespace wdelta {

// A section with a heading, a line that says what is counted against what, and the rest. All are HTML already.
std::string PageSection(std::string_view title, std::string_view note, std::string_view content);
// A box that scrolls sideways by itself, reachable by keyboard. `label` and `content` are HTML already.
std::string WideBox(std::string_view label, std::string_view content, std::string_view further_class = "");

// A section: share of elements and bytes, record by record. Empty if there are no records.
std::string RecordSection(const StatsReport& report);
// Which weights changed, by their magnitude, for each type. A number of few bits shows an update only if the update is
// not too small beside it, so the share falls as weights grow: these charts show where.
std::string ExponentCharts(const StatsReport& report);

// Light and dark by the reader's choice, black on white on paper. The page itself never scrolls sideways: what may be
// wide (maps, charts, tables) stands in a box of class "wide" that does. Neither this nor the script holds anything
// that comes from a file.
extern const char* const kPageStyle;

// Makes the headings of the table with the class "sortable" into buttons that sort it. Without scripts the table is
// there all the same, and its headings are only words.
extern const char* const kPageScript;

}  // namespace wdelta
