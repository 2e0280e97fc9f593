// The program of the user that a pull runs when it is done.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/context.h"
#include "core/result.h"

namespace wdelta {

// Runs `command` by /bin/sh with `variables` added to the environment of `context` and credentials taken out of it, and
// `input` on its standard input. Its output goes to standard error. kHook if it fails.
Result<> RunShellCommand(const std::string& command, const std::vector<std::pair<std::string, std::string>>& variables,
                         const std::string& input, const Context& context);

}  // namespace wdelta
