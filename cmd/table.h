// Rows of text in aligned columns. Cells must be safe for a terminal already (TerminalText).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace wdelta {

struct Column {
  std::string title;
  bool right = false;    // figures stand to the right
  bool shrinks = false;  // may be cut in the middle when the table is too wide
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void AddRow(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }

  // The columns that the longest line takes.
  size_t Width() const;
  // The titles and the rows, each line indented by two spaces and ended by a newline. With a `width` other than 0, the
  // column that shrinks is cut so that lines fit; a file or a pipe gets whole names, which grep finds.
  std::string Text(size_t width) const;

 private:
  std::vector<size_t> ColumnWidths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// How many characters `text` takes, counted in code points.
size_t DisplayWidth(std::string_view text);

// At most `width` characters: the middle gives way to "...", because both ends of a tensor's name tell something.
std::string ShortenMiddle(std::string_view text, size_t width);

// A paragraph of lines of at most `width` characters, broken between words; 0: one line. Each line, ended by a newline,
// begins with `first` or with `next`, which count.
std::string Wrapped(std::string_view text, const std::string& first, const std::string& next, size_t width);

// A bar of at most `width` characters for `part` of `whole`; any part but zero is at least one character.
std::string ShareBar(double share, size_t width);

// The same of block characters, which are filled by eighths: rows that differ by little look different.
std::string BlockBar(double share, size_t width);

}  // namespace wdelta
