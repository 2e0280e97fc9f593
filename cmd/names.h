// The names that a user gives for things: a path, or "-" for a stream. They are checked before any I/O.
#pragma once

#include <string>
#include <vector>

#include "wdelta.h"

namespace wdelta {

// Fails with kUsage for an empty name and for a URL.
Result<> CheckName(const std::string& name);
Result<> CheckNames(const std::vector<std::string>& names);

// CheckName, and not "-": a checkpoint has to be a file or a folder. `role` is what it is called in the usage line.
Result<> CheckCheckpointName(const std::string& name, const std::string& role);

// Fails with kUsage if more than one of them is "-": standard input can be read once.
Result<> CheckOneStandardInput(const std::vector<std::string>& names);

}  // namespace wdelta
