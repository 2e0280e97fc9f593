// Code that runs in a process of its own, for what cannot be taken back in this one.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace wdelta {

// What `code` returns there, 0 to 255. Nothing that it does to this process's memory is seen here.
template <class Code>
int InChild(const Code& code) {
  const pid_t child = fork();
  if (child == 0) _exit(code());
  REQUIRE(child > 0);
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

}  // namespace wdelta
