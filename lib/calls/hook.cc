// The program of the user that a pull runs when it is done.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "core/boundary.h"
#include "core/child_variables.h"
#include "core/file.h"
#include "wdelta.h"

namespace wdelta {

namespace {

// Credentials stay in this process: the hook is a program of the user.
bool IsSecret(std::string_view name) {
  for (const std::string_view prefix : {"AWS_", "HF_", "HUGGING_FACE_"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace

Result<> RunHook(const std::string& command, const std::vector<std::pair<std::string, std::string>>& variables,
                 const std::string& input, const Context& context) {
  return Guarded([&]() -> Result<> {
    Environment::Variables environment = context.environment.variables();
    std::erase_if(environment, [](const auto& variable) { return IsSecret(variable.first); });
    for (const auto& [name, value] : variables) environment[name] = value;
    const ChildVariables child_variables(environment);

    // The input is a file without a name, so that a hook that never reads it does not block this process.
    WD_ASSIGN(const File file, File::CreateUnnamed(context.environment));
    WD_TRY(file.WriteAt(0, AsBytes(input)));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, file.descriptor(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);  // standard output is the report's
    std::string shell = "/bin/sh", option = "-c", text = command;
    char* words[] = {shell.data(), option.data(), text.data(), nullptr};
    pid_t child = 0;
    const int failed = posix_spawn(&child, shell.c_str(), &actions, nullptr, words, child_variables.pointers());
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) return Error{ErrorKind::kHook, "cannot run '" + command + "': " + std::strerror(failed)};
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
    return Error{ErrorKind::kHook,
                 "'" + command + "' " +
                     (WIFSIGNALED(status) ? "was ended by signal " + std::to_string(WTERMSIG(status))
                                          : "ended with " + std::to_string(WEXITSTATUS(status))),
                 "the data are in place; the next pull runs it again"};
  });
}

}  // namespace wdelta
