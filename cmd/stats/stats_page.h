// The sections of the page that StatsHtml (stats_view.h) puts together, in the order of a reader's questions: how much,
// is it within limits, where, when, why, and then every row. Each returns HTML, or nothing if the report does not have
// what it would show.
//
// Charts of lines are SVG; bars are cells of tables, so that they shrink with the window and can be read aloud.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stats/stats_view.h"
#include "table.h"
#include "wdelta.h"

namespace wdelta {

std::string HeadSection(const StatsView& view);           // the answer in a sentence, and the figures behind it
std::string VerdictSections(const StatsView& view);       // findings, gates, comparison with an earlier report
std::string HeatMapSection(const StatsReport& report);    // where
std::string RecordSection(const StatsReport& report);     // when: share and bytes by record
std::string MagnitudeSection(const StatsReport& report);  // which weights, by magnitude, and how far
std::string MoverSection(const StatsReport& report);
std::string EncodingSection(const StatsReport& report);
std::string FormSection(const StatsReport& report);  // tensors added, removed, reshaped or retyped, and changed files
std::string RowSection(const StatsView& view);       // the table that can be sorted

// A section with a heading, a line that says what is counted against what, and the rest. All must be HTML already.
std::string PageSection(std::string_view title, std::string_view note, std::string_view content);
// A box that scrolls sideways by itself, reachable by keyboard.
std::string WideBox(std::string_view label, std::string_view content);
// A table in such a box. `rows` are <tr> elements; `sortable`: its headings become buttons.
std::string PageTable(std::string_view label, const std::vector<Column>& columns, std::string_view rows,
                      bool sortable = false);
// A bar of this share of its cell.
std::string BarCell(double share, std::string_view further_class = "");

// Two parts of MagnitudeSection that have files of their own.
std::string ExponentCharts(const StatsReport& report);
std::string StepBars(const StatsReport& report);

// The subjects as they were given: "A -> B", or the one. HTML.
std::string SubjectMarkup(const StatsReport& report);

}  // namespace wdelta
