// Whether another process uses a file.
#pragma once

#include <optional>
#include <string>

namespace wdelta {

// The process that has the file at `path` open or mapped, for a message; nullopt: none has, or the system does not
// tell. This process must not have the file open.
std::optional<std::string> UserOfFile(const std::string& path);

}  // namespace wdelta
