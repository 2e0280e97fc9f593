// Text inside of XML and HTML. Names come from files that anybody may have written: they appear only as text between
// tags and in quoted attributes, never in a script, a style or an address, and go through one of these functions.
#pragma once

#include <string>
#include <string_view>

namespace wdelta {

// `text` so that it is only text, between tags and in quotes of either kind. Control characters and broken UTF-8, which
// XML forbids even as references, are for TerminalText to take out before.
std::string EscapeMarkup(std::string_view text);

// The same for any text: control characters and bidirectional overrides become visible escapes, and a name of 100 KB
// gives way in its middle until `width` characters are left.
std::string MarkupText(std::string_view text, size_t width = 120);

// The same for HTML alone, with a place to break the line after each dot.
std::string NameMarkup(std::string_view name, size_t width = 120);

}  // namespace wdelta
