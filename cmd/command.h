// What a subcommand is: a row that says what it is called, which options it takes, and which function runs it.
//
// To add one: a file with a `const Command`, its name in the list below, its row in the table of main.cc, a man page,
// and tests. The parser, --help and the check of the man pages all walk the same rows.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "json_fields.h"
#include "wdelta.h"

namespace wdelta {

class Arguments;
class Ui;

struct OptionRow {
  const char* names;                  // "-o,--output"; the long name without its dashes is the key in Arguments
  const char* value;                  // what the value is called in --help: "FILE"; "N" is a number; "": it is a flag
  const char* help;                   // lower case, no full stop
  const char* environment = nullptr;  // the variable that counts when the option is not given
  std::vector<std::string> choices = {};  // the only values allowed; empty: any
  bool repeats = false;                   // may be given several times, all of which count; otherwise the last one does
};

// An option that takes one of a few words.
inline OptionRow Choice(const char* names, const char* value, const char* help, std::vector<std::string> choices,
                        const char* environment = nullptr) {
  return {names, value, help, environment, std::move(choices)};
}

struct Command {
  const char* name;
  const char* summary;   // one line for the list of commands
  const char* synopsis;  // what follows the name in the usage lines; one line each
  struct {
    size_t least, most;
  } operands;
  std::vector<OptionRow> options;  // its own; every command also has the common ones
  // The fields of the JSON object beside the envelope, all null: what a failure prints.
  JsonObject (*blank_fields)();
  // The answer as an exit code: 0, or 1 for "no". Errors become exit codes in main.cc.
  Result<int> (*run)(const Arguments& arguments, Ui& ui);
};

inline constexpr size_t kAnyNumber = static_cast<size_t>(-1);

const Command* FindCommand(std::string_view name);  // null if there is none
std::string ProgramHelp();                          // what `wdelta --help` prints
// "unknown command", with the nearest name as the hint.
Error UnknownCommand(const std::string& name);

extern const Command kDiffCommand, kPackCommand, kPushCommand, kPullCommand, kApplyCommand, kVerifyCommand,
    kStatsCommand, kLogCommand, kIdCommand, kTagCommand, kRevertCommand, kGcCommand, kDoctorCommand, kCatCommand,
    kHelpCommand;

}  // namespace wdelta
