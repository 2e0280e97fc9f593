// What the page carries with it: its style sheet and its script. Neither holds anything that comes from a file.
#pragma once

namespace wdelta {

// Light and dark by the reader's choice, black on white on paper. The page itself never scrolls sideways: what may be
// wide (maps, charts, tables) stands in a box of class "wide" that does.
extern const char* const kPageStyle;

// Makes the headings of the table with the class "sortable" into buttons that sort it. Without scripts the table is
// there all the same, and its headings are only words.
extern const char* const kPageScript;

}  // namespace wdelta
