#include "remote/credential_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "core/child_variables.h"

namespace wdelta {

std::optional<std::vector<std::string>> SplitCommand(std::string_view command) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    const bool blank = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (quote == 0 && blank) {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
      continue;
    }
    in_word = true;
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else if (c == '\\' && quote != '\'') {
      if (++i == command.size()) return std::nullopt;
      if (quote == '"' && command[i] != '"' && command[i] != '\\') word += '\\';
      word += command[i];
    } else {
      word += c;
    }
  }
  if (quote != 0) return std::nullopt;
  if (in_word) words.push_back(std::move(word));
  if (words.empty()) return std::nullopt;
  return words;
}

namespace {

Error Failed(const std::string& why) {
  return {ErrorKind::kDenied, "the credential process " + why};
}

// A child that is ended and waited for whatever happens.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  // Whether it has ended, and how.
  bool Ended(int* status) {
    const pid_t ended = waitpid(pid_, status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
    if (ended < 0) *status = 0;  // our parent has us ignore children: it is gone, nobody knows how
    pid_ = 0;
    return true;
  }

 private:
  pid_t pid_;
};

Result<pid_t> Start(const std::vector<std::string>& words, const Environment& environment, int output) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const ChildVariables variables(environment.variables());
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  sigset_t none, pipe_only;
  sigemptyset(&none);
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &pipe_only);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(), variables.pointers());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) return Failed(std::string("cannot be started: ") + std::strerror(failed));
  return pid;
}

}  // namespace

Result<Bytes> RunForOutput(const std::vector<std::string>& words, uint64_t limit, double seconds,
                           const Environment& environment, const StopToken& stop) {
  using Clock = std::chrono::steady_clock;
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return Error{ErrorKind::kLocalIo, std::string("cannot create a pipe: ") + std::strerror(errno)};
  struct Closer {
    int descriptor;
    ~Closer() { close(descriptor); }
  };
  const Closer reading{ends[0]};
  auto started = Start(words, environment, ends[1]);
  close(ends[1]);
  if (!started.ok()) return started.TakeError();
  Child child(*started);

  Bytes output;
  bool open = true;
  for (int status = 0;;) {
    WD_TRY(stop.Check());
    if (Clock::now() >= deadline) return Failed("took longer than " + std::to_string(static_cast<int>(seconds)) + " s");
    if (!open) {
      if (child.Ended(&status)) {
        if (WIFSIGNALED(status)) return Failed("was ended by signal " + std::to_string(WTERMSIG(status)));
        if (WEXITSTATUS(status) != 0) return Failed("failed with status " + std::to_string(WEXITSTATUS(status)));
        return output;
      }
      poll(nullptr, 0, 5);
      continue;
    }
    pollfd wanted{ends[0], POLLIN, 0};
    if (poll(&wanted, 1, 50) <= 0) continue;
    uint8_t piece[4096];
    const ssize_t got = read(ends[0], piece, sizeof piece);
    if (got < 0 && errno != EINTR) return Failed(std::string("cannot be read from: ") + std::strerror(errno));
    if (got == 0) open = false;
    if (got > 0) output.insert(output.end(), piece, piece + got);
    if (output.size() > limit) return Failed("printed more than " + std::to_string(limit) + " bytes");
  }
}

}  // namespace wdelta
