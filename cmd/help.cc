// wdelta help: the manual page of a command on a terminal, its --help text elsewhere.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "command.h"
#include "options.h"
#include "ui.h"

namespace wdelta {

namespace {

// The page beside this very program: installed (bin/ and share/man/), or in the source tree above a build folder.
std::filesystem::path FindPage(const std::string& page) {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const char* place : {"../share/man/man1", "../../man", "../man"}) {
    for (const char* ending : {".1", ".1.gz"}) {
      std::filesystem::path candidate = folder / place / (page + ending);
      if (std::filesystem::exists(candidate, ignored)) return candidate;
    }
  }
  return {};
}

Result<int> Run(const Arguments& arguments, Ui& ui) {
  std::string page = "wdelta", text = ProgramHelp();
  if (!arguments.operands().empty()) {
    const std::string& name = arguments.operands()[0];
    const Command* command = FindCommand(name);
    if (!command) return UnknownCommand(name);
    if (command != &kHelpCommand) {
      page += "-" + name;
      text = CommandHelp(*command);
    }
  }
  if (isatty(STDOUT_FILENO) && !arguments.Has("json")) {
    if (const std::filesystem::path path = FindPage(page); !path.empty()) {
      execlp("man", "man", "-l", path.c_str(), nullptr);  // returns only if there is no man
    }
  }
  ui.SetFields({{"text", text}});
  ui.PrintAlways(text);
  return 0;
}

}  // namespace

const Command kHelpCommand = {
    "help", "show the manual page of a command", "[CMD]", {0, 1}, {}, [] { return NullFields({"text"}); }, Run,
};

}  // namespace wdelta
