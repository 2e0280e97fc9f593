#include "names.h"

#include <algorithm>
#include <cctype>

#include "core/try.h"

namespace wdelta {

namespace {

bool LooksLikeUrl(const std::string& name) {
  const size_t colon = name.find("://");
  if (colon == std::string::npos || colon == 0 || !std::isalpha(static_cast<unsigned char>(name[0]))) return false;
  return std::all_of(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(colon),
                     [](unsigned char c) { return std::isalnum(c) || c == '+' || c == '-' || c == '.'; });
}

}  // namespace

Result<> CheckName(const std::string& name) {
  if (name.empty()) return Error{ErrorKind::kUsage, "a name is empty"};
  if (!LooksLikeUrl(name)) return {};
  Error error{ErrorKind::kUsage, "'" + name + "' is a remote, and a file or a folder belongs here",
              "a local file of that name is written './" + name + "'"};
  error.path = name;
  return error;
}

Result<> CheckNames(const std::vector<std::string>& names) {
  for (const std::string& name : names) WD_TRY(CheckName(name));
  return {};
}

Result<> CheckCheckpointName(const std::string& name, const std::string& role) {
  WD_TRY(CheckName(name));
  if (name != "-") return {};
  return Error{ErrorKind::kUsage, role + " has to be a file or a folder, not '-'",
               "only deltas and packs go through pipes; a file of that name is written './-'"};
}

Result<> CheckOneStandardInput(const std::vector<std::string>& names) {
  if (std::count(names.begin(), names.end(), "-") <= 1) return {};
  return Error{ErrorKind::kUsage, "'-' is given more than once, and standard input can be read only once"};
}

}  // namespace wdelta
