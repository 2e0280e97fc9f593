#include "options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <list>

#include "core/try.h"
#include "table.h"

namespace wdelta {

namespace {

// "-o,--output" -> "output"
std::string LongName(const OptionRow& row) {
  const std::string names = row.names;
  return names.substr(names.rfind("--") + 2);
}

bool IsFlag(const OptionRow& row) {
  return row.value[0] == '\0';
}

// The options that every command has.
const std::vector<OptionRow>& CommonOptions() {
  static const std::vector<OptionRow> rows = {
      {"--json", "", "print one JSON object instead of text, on failure too"},
      {"--report", "FILE", "also write that JSON object to FILE, on failure too"},
      {"-q,--quiet", "", "print only what the next command needs, and no notes"},
      {"-v,--verbose", "", "print more"},
      {"--color", "WHEN", "auto, always or never", "WDELTA_COLOR", {"auto", "always", "never"}},
      {"--progress", "HOW", "auto, tty, plain or none", "WDELTA_PROGRESS", {"auto", "tty", "plain", "none"}},
      {"--threads", "N", "work on N threads; 0: one for each processor", "WDELTA_THREADS"},
      {"-h,--help", "", "print this text"},
  };
  return rows;
}

std::vector<const OptionRow*> RowsOf(const Command& command) {
  std::vector<const OptionRow*> rows;
  for (const OptionRow& row : command.options) rows.push_back(&row);
  for (const OptionRow& row : CommonOptions()) rows.push_back(&row);
  return rows;
}

std::string SeeHelp(const Command& command) {
  return "'wdelta " + std::string(command.name) + " --help' lists the options";
}

std::string AnyOf(const std::vector<std::string>& choices) {
  return fmt::format("{}{}{}", fmt::join(choices.begin(), choices.end() - 1, ", "), choices.size() > 1 ? " or " : "",
                     choices.back());
}

bool IsNumber(const std::string& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

// `source` is how the user said it: "option '--level'" or "WDELTA_LEVEL".
Result<> CheckValue(const OptionRow& row, const std::string& source, const std::string& value) {
  if (!row.choices.empty() && std::find(row.choices.begin(), row.choices.end(), value) == row.choices.end()) {
    return BadValue(source, AnyOf(row.choices), value);
  }
  if (std::string_view(row.value) == "N" && !IsNumber(value)) return BadValue(source, "a number", value);
  if (!value.empty()) return {};
  Error error{ErrorKind::kUsage, source + " needs a value"};
  error.expected = row.value;
  return error;
}

Error UnknownOption(const Command& command, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  Error error{ErrorKind::kUsage, "unknown option '" + name + "'", SeeHelp(command)};
  std::vector<std::string> candidates;
  for (const OptionRow* row : RowsOf(command)) candidates.push_back("--" + LongName(*row));
  if (const std::string nearest = NearestName(name, candidates); !nearest.empty()) {
    error.hint = "did you mean '" + nearest + "'? " + error.hint;
  }
  return error;
}

// What CLI11 left over: operands, and the options that nobody knows. After "--" everything is an operand.
Result<std::vector<std::string>> TakeOperands(const Command& command, const std::vector<std::string>& words) {
  std::vector<std::string> operands;
  bool options_ended = false;
  for (const std::string& word : words) {
    if (!options_ended && word == "--") {
      options_ended = true;
    } else if (!options_ended && word.size() > 1 && word[0] == '-') {
      return UnknownOption(command, word);
    } else {
      operands.push_back(word);
    }
  }
  const auto [least, most] = command.operands;
  if (operands.size() < least || operands.size() > most) {
    const bool too_few = operands.size() < least;
    Error error{ErrorKind::kUsage, "", SeeHelp(command)};
    const size_t wanted = too_few ? least : most;
    error.expected = (least == most ? "" : too_few ? "at least " : "at most ") + std::to_string(wanted);
    error.found = std::to_string(operands.size());
    error.message = "'" + std::string(command.name) + "' takes " + error.expected +
                    (wanted == 1 ? " operand" : " operands") + ", found " + error.found;
    return error;
  }
  for (const std::string& operand : operands) {
    if (operand.empty()) return Error{ErrorKind::kUsage, "an operand is empty", SeeHelp(command)};
  }
  return operands;
}

}  // namespace

bool Arguments::Has(std::string_view name) const {
  return values_.find(name) != values_.end();
}

std::string Arguments::Value(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? "" : found->second.back();
}

std::vector<std::string> Arguments::Values(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

uint64_t Arguments::Number(std::string_view name, uint64_t fallback) const {
  const std::string text = Value(name);
  std::from_chars(text.data(), text.data() + text.size(), fallback);
  return fallback;
}

Error BadValue(const std::string& source, const std::string& expected, const std::string& found) {
  Error error{ErrorKind::kUsage, source + " takes " + expected + ", not '" + found + "'"};
  error.expected = expected;
  error.found = found;
  return error;
}

Result<Arguments> ParseArguments(const Command& command, std::span<const std::string> words) {
  // CLI11 would take the next word for the value of "--base=".
  for (const std::string& word : words) {
    if (word == "--") break;
    if (word.size() > 3 && word.starts_with("--") && word.find('=') == word.size() - 1) {
      return Error{ErrorKind::kUsage, "option '" + word.substr(0, word.size() - 1) + "' needs a value",
                   SeeHelp(command)};
    }
  }
  // All values are kept as lists: then CLI11 has nothing to convert or to complain about but a missing value.
  struct Given {
    const OptionRow* row;
    std::vector<std::string> values = {};
    const CLI::Option* option = nullptr;
  };
  std::list<Given> all;
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  for (const OptionRow* row : RowsOf(command)) {
    Given& given = all.emplace_back(Given{row});
    // Without allow_extra_args(false), CLI11 would take "[ab]*" for a list, and further words for further values.
    given.option = IsFlag(*row) ? app.add_flag(row->names)->disable_flag_override()
                                : app.add_option(row->names, given.values)->allow_extra_args(false);
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    std::string what = error.what();
    const size_t colon = what.find(':');
    const size_t override = what.find(" was given a disallowed");
    if (colon != std::string::npos) what = "option '" + what.substr(0, colon) + "' needs a value";
    if (override != std::string::npos) what = "option '--" + what.substr(0, override) + "' takes no value";
    return Error{ErrorKind::kUsage, what, SeeHelp(command)};
  }

  Arguments arguments;
  for (auto& [row, list, option] : all) {
    if (IsFlag(*row) && option->count() > 0) list.emplace_back();
    std::string source = "option '--" + LongName(*row) + "'";
    if (list.empty() && row->environment) {
      if (const char* setting = std::getenv(row->environment); setting && *setting) {
        list.emplace_back(setting);
        source = row->environment;
      }
    }
    if (list.empty()) continue;
    if (!IsFlag(*row)) {
      for (const std::string& value : list) WD_TRY(CheckValue(*row, source, value));
    }
    arguments.values_.emplace(LongName(*row), std::move(list));
  }
  if (arguments.Has("help")) return arguments;  // whatever else is missing
  WD_ASSIGN(arguments.operands_, TakeOperands(command, app.remaining()));
  return arguments;
}

namespace {

// "  -o, --output FILE   what it does", the text wrapped at 80 columns.
std::string HelpLine(const OptionRow& row) {
  constexpr size_t kTextColumn = 26, kWidth = 80;
  const std::string names = row.names;
  std::string line = "  ";
  if (const size_t comma = names.find(','); comma != std::string::npos) {
    line += names.substr(0, comma) + ", " + names.substr(comma + 1);
  } else {
    line += "    " + names;
  }
  if (!IsFlag(row)) line += std::string(" ") + row.value;
  std::string text, help = row.help;
  if (row.environment) help += std::string(" (or ") + row.environment + ")";
  if (row.repeats) help += "; may be repeated";
  if (line.size() + 2 > kTextColumn) {
    text += line + '\n';
    line.clear();
  }
  line.resize(kTextColumn, ' ');
  return text + Wrapped(help, line, std::string(kTextColumn, ' '), kWidth);
}

}  // namespace

std::string CommandHelp(const Command& command) {
  std::string text, prefix = "usage: ", synopsis = command.synopsis;
  while (!synopsis.empty()) {
    const size_t end = std::min(synopsis.find('\n'), synopsis.size());
    text += prefix + "wdelta " + command.name + ' ' + synopsis.substr(0, end) + '\n';
    synopsis.erase(0, std::min(synopsis.size(), end + 1));
    prefix = "       ";
  }
  text += "\n" + std::string(command.summary) + "\n";
  if (!command.options.empty()) text += "\nOptions\n";
  for (const OptionRow& row : command.options) text += HelpLine(row);
  text += "\nCommon options\n";
  for (const OptionRow& row : CommonOptions()) text += HelpLine(row);
  return text + "\n'wdelta help " + command.name + "' shows the manual page.\n";
}

bool MentionsFlag(std::span<const std::string> words, std::string_view flag) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::find(words.begin(), end, flag) != end;
}

std::string MentionedValue(std::span<const std::string> words, std::string_view option) {
  std::string value;
  for (size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (words[i] == option && i + 1 < words.size() && !words[i + 1].starts_with("--")) value = words[i + 1];
    if (words[i].starts_with(std::string(option) + "=")) value = words[i].substr(option.size() + 1);
  }
  return value;
}

std::string NearestName(std::string_view word, const std::vector<std::string>& candidates) {
  std::string nearest;
  size_t least = word.size() < 4 ? 2 : 3;  // as many slips of the finger are too many
  for (const std::string& candidate : candidates) {
    std::vector<size_t> row(candidate.size() + 1);
    for (size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= word.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j < row.size(); ++j) {
        const size_t replace = diagonal + (word[i - 1] == candidate[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
      }
    }
    if (row.back() < least) {
      least = row.back();
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace wdelta
