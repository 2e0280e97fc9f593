// A report of `stats` for people, taken apart: figures, sentences and tables in their order, before any form has made
// text of them. What is told and in which words is decided here, once; a form (text, Markdown, page) only decides how
// it looks.
//
// Nothing in a part is safe to print: names are as they stand in files.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "stats/stats_view.h"
#include "stats/stats_words.h"

namespace wdelta {

struct PartColumn {
  enum class Kind {
    kWord,    // of ours, harmless everywhere
    kName,    // from a file, long: may be cut in the middle, must be made harmless
    kFigure,  // of ours, stands to the right
    kBar,     // PartCell::bar, from 0 to 1
    kVerdict  // PASS or FAIL; the first column
  };
  enum class Room {
    kAlways,
    kWide,  // left out of a terminal of less than 100 columns
    kPage   // only the page, which scrolls, has room for it
  };
  std::string title;
  Kind kind = Kind::kWord;
  Room room = Room::kAlways;
};
using Kind = PartColumn::Kind;
using Room = PartColumn::Room;

// A text, or a bar. Made from either without a word: rows are lists of them.
struct PartCell {
  std::string text;
  double bar = 0;
  PartCell(std::string words) : text(std::move(words)) {}
  PartCell(const char* words) : text(words) {}
  PartCell(double share) : bar(share) {}
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
  // The page has room for more columns and for three digits of each share, and it draws what the other forms tell in
  // tables of exponents and of steps.
  bool is_page = false;

  std::string Count(uint64_t number) const { return short_counts ? ShortCount(number) : Grouped(number); }
  std::string Share(uint64_t part, uint64_t whole) const { return Percent(part, whole, is_page ? kFineDigits : 0); }
  PartChoice WithAllRows() const { return {0, short_counts, is_page}; }
};

// One figure of the whole report: "tensors changed", "24", " of 26 (92.31 %)". The name of some needs a `meaning`.
struct Fact {
  std::string name, figure, context, meaning;
  bool is_in_opening = false;  // the first of OpeningSentences tells it too
};

// Totals. Empty of records, which OpeningSentences tells about.
std::vector<Fact> TotalFacts(const StatsReport& report, const PartChoice& choice);
// What stayed as it was, and what is not a number; only what there is.
std::vector<Fact> UntouchedFacts(const StatsReport& report, const PartChoice& choice);
// The rows of the view; empty if nothing changed.
StatsPart MainPart(const StatsView& view, const PartChoice& choice);
// What else there is to tell about weights and costs. A part without content is not there.
std::vector<StatsPart> DetailParts(const StatsView& view, const PartChoice& choice);
// What a reader must not miss: findings, gates, the comparison with an earlier report.
std::vector<StatsPart> VerdictParts(const StatsView& view);

// ---- Pieces of the above

StatsPart RowsPart(const StatsView& view, const PartChoice& choice);               // stats_part_rows.cc
StatsPart RecordsPart(const StatsReport& report, const PartChoice& choice);        // stats_part_rows.cc
StatsPart RecordSummaryPart(const StatsReport& report, const PartChoice& choice);  // stats_part_rows.cc
StatsPart ExponentPart(const ExponentTable& table, const PartChoice& choice);      // stats_part_weights.cc
StatsPart StepPart(const std::vector<StepRow>& steps, const PartChoice& choice);   // stats_part_weights.cc
StatsPart MoversPart(const StatsReport& report, const PartChoice& choice);         // stats_part_weights.cc

// A column of a table, and what each row has in it. One that is not wanted is left out.
template <class Row>
struct RowColumn {
  PartColumn column;
  std::function<PartCell(const Row&)> cell;
  bool is_wanted = true;
};

// A part with a table, at most choice.top rows of it.
template <class Row>
StatsPart TablePart(const std::string& title, std::span<const Row> rows, const PartChoice& choice,
                    std::vector<RowColumn<Row>> columns, const std::string& explanation = "") {
  StatsPart part{.title = title, .explanation = explanation};
  std::erase_if(columns, [&](const RowColumn<Row>& column) {
    return !column.is_wanted || (column.column.room == PartColumn::Room::kPage && !choice.is_page);
  });
  for (const RowColumn<Row>& column : columns) part.columns.push_back(column.column);
  const size_t shown = choice.top == 0 ? rows.size() : std::min<size_t>(rows.size(), choice.top);
  part.more = rows.size() - shown;
  for (const Row& row : rows.first(shown)) {
    std::vector<PartCell>& cells = part.rows.emplace_back();
    for (const RowColumn<Row>& column : columns) cells.push_back(column.cell(row));
  }
  return part;
}

}  // namespace wdelta
