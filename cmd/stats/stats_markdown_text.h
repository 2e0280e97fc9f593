// Text from files inside GitHub flavoured Markdown, where a name may try to be a link, a cell, a tag or a mention.
//
// A name becomes a code span: nothing in one is a link, a tag, an emoji or a mention. What could end a code span or the
// cell around it, a backtick and a vertical bar, is written as \x60 and \x7c, in the manner of TerminalText, which
// has taken line ends, controls and direction marks out before. Longer fences of backticks and "\|" would keep names
// exact, but a backslash before the bar ends a cell all the same, and exact names are what JSON is for.
//
// In a sentence, where a name may stand anywhere, every character gets a backslash that means something to Markdown at
// its place. Mentions and references are found after that, in the finished page, and only code stops them: "@" and "#"
// become code spans.
#pragma once

#include <string>
#include <string_view>

namespace wdelta {

std::string MarkdownName(std::string_view name);          // at most 200 characters of it, the middle left out
std::string MarkdownSentence(std::string_view sentence);  // at most 1,000 characters
std::string MarkdownTag(std::string_view text);           // between HTML tags, where Markdown does not look

}  // namespace wdelta
