// Text inside of XML and HTML.
#pragma once

#include <string>
#include <string_view>

namespace wdelta {

// `text` so that it is only text, between tags and in quotes of either kind. Control characters and broken UTF-8, which
// XML forbids even as references, are for TerminalText to take out before.
std::string EscapeMarkup(std::string_view text);

}  // namespace wdelta
