#include "signals.h"

#include <poll.h>
#include <unistd.h>

#include <csignal>

namespace wdelta {

namespace {

volatile std::sig_atomic_t stop_signal = 0;
volatile std::sig_atomic_t status_wanted = 0;

// Never destroyed: a signal may come while the process ends.
const StopSource& Source() {
  static const StopSource& source = *new StopSource;
  return source;
}

extern "C" void OnStop(int signal) {
  stop_signal = signal;
  Source().Request();
}

extern "C" void OnStatus(int) {
  status_wanted = 1;
}

// A shell starts background jobs with SIGINT ignored, and nohup does the like: that choice is kept.
void Handle(int signal, void (*handler)(int), int flags) {
  struct sigaction before {};
  if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

void InstallSignalHandlers() {
  Source();  // made here, because a handler cannot
  // Without SA_RESTART, so that a read that waits for a pipe returns.
  Handle(SIGINT, OnStop, static_cast<int>(SA_RESETHAND));
  Handle(SIGTERM, OnStop, static_cast<int>(SA_RESETHAND));
  Handle(SIGUSR1, OnStatus, SA_RESTART);
  std::signal(SIGPIPE, SIG_IGN);
}

StopToken StopBySignal() {
  return Source().token();
}

int StopSignal() {
  return stop_signal;
}

bool TakeStatusRequest() {
  const bool wanted = status_wanted != 0;
  if (wanted) status_wanted = 0;
  return wanted;
}

bool StandardOutputIsAbandoned() {
  struct pollfd output {
    STDOUT_FILENO, 0, 0
  };
  return poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

}  // namespace wdelta
