// A report of `stats` for people, taken apart: titles, sentences and tables in their order, before any form has made
// text of them. What is told and in which words is decided here, once; a form only decides how it looks.
//
// Nothing in a part is safe to print: names are as they stand in files.
#pragma once

#include <string>
#include <vector>

#include "stats/stats_view.h"

namespace wdelta {

struct PartColumn {
  enum class Kind {
    kWord,    // of ours, harmless everywhere
    kName,    // from a file, long: may be cut in the middle, must be made harmless
    kFigure,  // of ours, stands to the right
    kBar,     // PartCell::bar, from 0 to 1
    kVerdict  // PASS or FAIL; the first column
  };
  std::string title;
  Kind kind = Kind::kWord;
  bool only_wide = false;  // left out of a terminal of less than 100 columns
};

struct PartCell {
  std::string text;
  double bar = 0;
  PartCell(std::string words) : text(std::move(words)) {}  // implicit: rows are lists of texts
  PartCell(const char* words) : text(words) {}
  static PartCell Bar(double bar) {
    PartCell cell("");
    cell.bar = bar;
    return cell;
  }
};

// A title, perhaps with an explanation; then a table, or sentences; then a legend. Absent pieces are empty.
struct StatsPart {
  std::string title, explanation;
  std::vector<PartColumn> columns;
  std::vector<std::vector<PartCell>> rows;
  uint64_t more = 0;                   // rows that --top has left out
  bool more_before = false;            // they stand before those shown, not after
  std::vector<std::string> sentences;  // names from files may be in them
  std::vector<std::string> legend;
  bool empty() const { return rows.empty() && sentences.empty(); }
};

struct PartChoice {
  uint64_t top = 0;           // at most so many rows of a kind; 0: all
  bool short_counts = false;  // 2.13 M instead of 2,131,968
};

// The rows of the view; empty if nothing changed.
StatsPart MainPart(const StatsView& view, const PartChoice& choice);
// What else there is to tell about weights and costs. A part without content is not there.
std::vector<StatsPart> DetailParts(const StatsView& view, const PartChoice& choice);
// What a reader must not miss: findings, gates, the comparison with an earlier report.
std::vector<StatsPart> VerdictParts(const StatsView& view);

// ---- Pieces of the above, each in a file of its own

StatsPart RowsPart(const StatsView& view, const PartChoice& choice);                       // stats_part_rows.cc
StatsPart RecordsPart(const StatsReport& report, const PartChoice& choice);                // stats_part_rows.cc
StatsPart RecordSummaryPart(const StatsReport& report);                                    // stats_part_rows.cc
StatsPart ExponentPart(const ExponentTable& table, const PartChoice& choice);              // stats_part_weights.cc
StatsPart StepPart(const std::vector<StepRow>& steps, const PartChoice& choice);           // stats_part_weights.cc
StatsPart UntouchedPart(const StatsReport& report);                                        // stats_part_weights.cc
StatsPart MoversPart(const StatsReport& report);                                           // stats_part_weights.cc
StatsPart FormPart(const StatsReport& report, ChangeKind kind, const PartChoice& choice);  // stats_part_forms.cc
StatsPart FilesPart(const StatsReport& report, const PartChoice& choice);                  // stats_part_forms.cc
StatsPart EncodingsPart(const StatsReport& report);                                        // stats_part_forms.cc

}  // namespace wdelta
