// credential_process of a profile: a program of the user that prints credentials.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.h"
#include "core/environment.h"
#include "core/stop.h"

namespace wdelta {

// The words of a command line as a POSIX shell would split it, with quotes and backslashes and nothing else: no
// variables, no patterns. nullopt: a quote that does not end, or no word at all.
std::optional<std::vector<std::string>> SplitCommand(std::string_view command);

// Runs a program without a shell in `environment` and gives what it prints, at most `limit` bytes of it. It gets no
// standard input; what it says on standard error goes where ours goes. kDenied if it cannot be started, fails, prints
// more, or takes longer than `seconds`; kInterrupted if a stop is requested meanwhile. It is then ended. The words are
// not part of any error: they may hold secrets.
Result<Bytes> RunForOutput(const std::vector<std::string>& words, uint64_t limit, double seconds,
                           const Environment& environment, const StopToken& stop);

}  // namespace wdelta
