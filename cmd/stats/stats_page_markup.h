// Text for the page and the pictures of `stats`: names made harmless, and figures as people read them.
//
// Names come from files that anybody may have written. They appear only as text between tags and in quoted attributes,
// never in a script, a style or an address; MarkupText is the only way in. Figures are made here and need no escaping.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wdelta.h"

namespace wdelta {

// `text` for HTML and XML, between tags or in quotes. Control characters and bidirectional overrides become visible
// escapes; a name of 100 KB gives way in its middle until `width` characters are left.
std::string MarkupText(std::string_view text, size_t width = 120);

// The same for HTML, with a place to break the line after each dot.
std::string NameMarkup(std::string_view name, size_t width = 120);

// "0.00042 %", "99.14 %": as many digits as tell a little from nothing and almost all from all. "-" of nothing.
std::string FineShare(uint64_t part, uint64_t whole);
std::string FineShare(double share);

std::string ShortFigure(double number);  // "0.0123", "1,204", "3.1e-05"
std::string PowerOfTwo(int exponent);    // "2" and a raised number, in plain characters

}  // namespace wdelta
