// The path in a file:// URL.
#pragma once

#include <string>

#include "core/result.h"

namespace wdelta {

// file:///abs/path and file://localhost/abs/path, percent-decoded, without slashes at the end. Another host, a relative
// path, the root of everything or a malformed escape is kUsage.
Result<std::string> PathOfFileUrl(const std::string& url);

}  // namespace wdelta
