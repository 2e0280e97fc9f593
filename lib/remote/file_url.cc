#include "remote/file_url.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace wdelta {

Result<std::string> PathOfFileUrl(const std::string& url) {
  constexpr std::string_view kScheme = "file://";
  const auto wrong = [&](const std::string& why) {
    Error error{ErrorKind::kUsage, "'" + url + "' " + why};
    error.hint = "write file:///absolute/path";
    return error;
  };
  if (!url.starts_with(kScheme)) return wrong("is not a file:// URL");
  const std::string_view rest = std::string_view(url).substr(kScheme.size());
  const size_t slash = rest.find('/');
  const std::string_view host = rest.substr(0, slash);
  if (!host.empty() && host != "localhost") return wrong("has a host or a relative path, which file:// cannot have");
  if (slash == std::string_view::npos) return wrong("has no path");
  std::string path;
  for (size_t i = slash; i < rest.size(); ++i) {
    if (rest[i] != '%') {
      path += rest[i];
      continue;
    }
    int byte = 0;
    const char* end = rest.data() + std::min(i + 3, rest.size());
    const auto parsed = std::from_chars(rest.data() + i + 1, end, byte, 16);
    if (parsed.ptr != rest.data() + i + 3 || byte < 0)
      return wrong("has a '%' without two hexadecimal digits after it");
    path += static_cast<char>(byte);
    i += 2;
  }
  if (path.find('\0') != std::string::npos) return wrong("has a zero byte in its path");
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (path == "/") return wrong("names no folder");
  return path;
}

}  // namespace wdelta
