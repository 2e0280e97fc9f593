// Text inside of XML, HTML and Markdown. Names come from files that anybody may have written: they appear only as text
// between tags and in quoted attributes, never in a script, a style or an address, and go through one of these
// functions.
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

// ---- GitHub flavoured Markdown, where a name may try to be a link, a cell, a tag or a mention
//
// A name becomes a code span: nothing in one is a link, a tag, an emoji or a mention. What could end a code span or the
// cell around it, a backtick and a vertical bar, is written as \x60 and \x7c, in the manner of TerminalText, which
// has taken line ends, controls and direction marks out before. Longer fences of backticks and "\|" would keep names
// exact, but a backslash before the bar ends a cell all the same, and exact names are what JSON is for.
//
// In a sentence, where a name may stand anywhere, every character gets a backslash that means something to Markdown at
// its place. Mentions and references are found after that, in the finished page, and only code stops them: "@" and "#"
// become code spans.

std::string MarkdownName(std::string_view name);          // at most 200 characters of it, the middle left out
std::string MarkdownSentence(std::string_view sentence);  // at most 1,000 characters
std::string MarkdownTag(std::string_view text);           // between HTML tags, where Markdown does not look

}  // namespace wdelta
