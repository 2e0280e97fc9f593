// What a key may look like: the grammar that remote.h describes, checked in one place by every store, so that no key
// can leave a folder, mean another object once it is encoded, or harm a terminal.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace wdelta {

inline constexpr size_t kMaxKeySize = 1024;     // what S3 allows
inline constexpr size_t kMaxKeyPartSize = 255;  // what file systems allow

// Letters, digits, '.', '-', '_', in parts between single '/', none of which is empty or begins with a dot.
bool ValidKey(std::string_view key);

// Whether a valid key can begin with `prefix`; the empty one is, too.
bool ValidKeyPrefix(std::string_view prefix);

// kRefused, with the key in a form that is safe to print.
Result<> CheckKey(std::string_view key);
Result<> CheckKeyPrefix(std::string_view prefix);

}  // namespace wdelta
