// What a pull runs when it is done.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "core/boundary.h"
#include "core/file.h"
#include "wdelta.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): no header has it

namespace wdelta {

namespace {

// What opens doors stays here: the hook is somebody else's program.
bool IsSecret(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  for (const std::string_view prefix : {"AWS_", "HF_", "HUGGING_FACE_"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

Result<> DoRunHook(const std::string& command, const std::vector<std::pair<std::string, std::string>>& variables,
                   const std::string& input) {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable; ++variable) {
    if (!IsSecret(*variable)) environment.emplace_back(*variable);
  }
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  std::vector<char*> pointers;
  pointers.reserve(environment.size() + 1);
  for (std::string& variable : environment) pointers.push_back(variable.data());
  pointers.push_back(nullptr);

  // The input lies in a file without a name, so that a hook that never reads it holds up nobody.
  WD_ASSIGN(const File file, File::CreateUnnamed());
  WD_TRY(file.WriteAt(0, AsBytes(input)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, file.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);  // standard output is the report's
  std::string shell = "/bin/sh", option = "-c", text = command;
  char* words[] = {shell.data(), option.data(), text.data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawn(&child, shell.c_str(), &actions, nullptr, words, pointers.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return Error{ErrorKind::kHook, "cannot run '" + command + "': " + std::strerror(failed)};
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  Error error{ErrorKind::kHook, "'" + command + "' " +
                                    (WIFSIGNALED(status) ? "was ended by signal " + std::to_string(WTERMSIG(status))
                                                         : "ended with " + std::to_string(WEXITSTATUS(status)))};
  error.hint = "the data are in place; the next pull runs it again";
  return error;
}

}  // namespace

Result<> RunHook(const std::string& command, const std::vector<std::pair<std::string, std::string>>& variables,
                 const std::string& input) {
  return Guarded(DoRunHook, command, variables, input);
}

}  // namespace wdelta
