#include "remote/remote_key.h"

#include "core/text.h"

namespace wdelta {
namespace {

bool AllowedInPart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

Error NotAKey(std::string_view key, const char* what) {
  return {ErrorKind::kRefused, "'" + TerminalText(Shorten(key)) + "' cannot be " + what};
}

}  // namespace

bool ValidKeyPrefix(std::string_view prefix) {
  if (prefix.size() > kMaxKeySize) return false;
  size_t part_size = 0;
  for (const char c : prefix) {
    if (c == '/') {
      if (part_size == 0) return false;
      part_size = 0;
      continue;
    }
    if (!AllowedInPart(c) || (c == '.' && part_size == 0)) return false;
    if (++part_size > kMaxKeyPartSize) return false;
  }
  return true;
}

bool ValidKey(std::string_view key) {
  return !key.empty() && key.back() != '/' && ValidKeyPrefix(key);
}

Result<> CheckKey(std::string_view key) {
  if (!ValidKey(key)) return NotAKey(key, "the key of an object");
  return {};
}

Result<> CheckKeyPrefix(std::string_view prefix) {
  if (!ValidKeyPrefix(prefix)) return NotAKey(prefix, "the beginning of a key");
  return {};
}

}  // namespace wdelta
