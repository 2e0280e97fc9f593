// The program: finds the command, lets it run, and turns how it ended into an exit code.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <new>

#include "command.h"
#include "options.h"
#include "signals.h"
#include "ui.h"

namespace wdelta {

namespace {

// In the order of the list that `wdelta help` prints.
const Command* const kCommands[] = {
    &kDiffCommand,   &kPackCommand,  &kPushCommand,   &kPullCommand, &kApplyCommand,
    &kVerifyCommand, &kStatsCommand, &kLogCommand,    &kIdCommand,   &kTagCommand,
    &kRevertCommand, &kGcCommand,    &kDoctorCommand, &kCatCommand,  &kHelpCommand,
};

// A descriptor 0, 1 or 2 that was closed would be given to the next file, and talk would end up in a checkpoint. It is
// opened the wrong way round, so that using it fails.
void OccupyStandardStreams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    if (open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY) != descriptor) std::exit(9);
  }
}

// A checkpoint may have more shards than the usual soft limit has descriptors.
void RaiseFileLimit() {
  struct rlimit limit {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

Result<int> RunCommand(const Command& command, std::span<const std::string> words, Ui& ui) {
  WD_ASSIGN(const Arguments arguments, ParseArguments(command, words));
  ui.Configure(arguments);
  if (arguments.Has("help")) {
    ui.PrintAlways(CommandHelp(command));
    return 0;
  }
  try {
    return command.run(arguments, ui);
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::kLocalIo, "out of memory", "fewer '--threads' need less"};
  } catch (const std::exception& error) {
    return Error{ErrorKind::kLocalIo, std::string("unexpected: ") + error.what()};
  }
}

Result<int> ShowVersion(Ui& ui) {
  const VersionInfo version = Version();
  ui.SetFields(
      {{"version", version.version}, {"commit", JsonValue::Known(version.commit)}, {"libraries", version.libraries}});
  ui.PrintAlways("wdelta " + version.version + "\ncommit " + version.commit + "\nlibraries " + version.libraries +
                 '\n');
  return 0;
}

// What comes before the command: --version, --help, or nothing.
Result<int> RunWithoutCommand(std::span<const std::string> words, Ui& ui) {
  if (MentionsFlag(words, "--version")) return ShowVersion(ui);
  if (MentionsFlag(words, "--help") || MentionsFlag(words, "-h")) {
    ui.PrintAlways(ProgramHelp());
    return 0;
  }
  const std::string see = "'wdelta help' lists the commands";
  const auto word = std::find_if(words.begin(), words.end(), [](const std::string& w) { return w != "--json"; });
  if (word == words.end()) return Error{ErrorKind::kUsage, "no command is given", see};
  if (word->starts_with("-") || FindCommand(*word)) {
    return Error{ErrorKind::kUsage, "option '" + words[0] + "' stands before the command",
                 "options follow the command; " + see};
  }
  return UnknownCommand(*word);
}

int Main(std::span<const std::string> words) {
  std::string output = MentionedValue(words, "--output");
  if (output.empty()) output = MentionedValue(words, "-o");
  const ResultForm form = WantedForm(MentionsFlag(words, "--json"), MentionedValue(words, "--report"),
                                     MentionedValue(words, "--format"), output);
  const Command* command = words.empty() ? nullptr : FindCommand(words[0]);
  if (command) {
    Ui ui(command->name, form, command->blank_fields());
    return ui.Finish(RunCommand(*command, words.subspan(1), ui));
  }
  const bool is_version = MentionsFlag(words, "--version");
  Ui ui(is_version ? "version" : "", form, JsonObject());
  return ui.Finish(RunWithoutCommand(words, ui));
}

}  // namespace

const Command* FindCommand(std::string_view name) {
  for (const Command* command : kCommands) {
    if (name == command->name) return command;
  }
  return nullptr;
}

std::string ProgramHelp() {
  std::string text =
      "usage: wdelta CMD [OPTION]... [OPERAND]...\n       wdelta --version [--json]\n\n"
      "wdelta moves model weights by moving only what changed.\n\nCommands\n";
  for (const Command* command : kCommands) {
    std::string name = command->name;
    name.resize(10, ' ');
    text += "  " + name + command->summary + '\n';
  }
  return text + "\n'wdelta CMD --help' lists the options, 'wdelta help CMD' shows the manual page.\n";
}

Error UnknownCommand(const std::string& name) {
  Error error{ErrorKind::kUsage, "unknown command '" + name + "'", "'wdelta help' lists the commands"};
  std::vector<std::string> names;
  for (const Command* command : kCommands) names.emplace_back(command->name);
  if (const std::string nearest = NearestName(name, names); !nearest.empty()) {
    error.hint = "did you mean 'wdelta " + nearest + "'?";
  }
  return error;
}

}  // namespace wdelta

int main(int argc, char** argv) {
  wdelta::OccupyStandardStreams();
  wdelta::RaiseFileLimit();
  wdelta::InstallSignalHandlers();
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  return wdelta::Main(words);
}
