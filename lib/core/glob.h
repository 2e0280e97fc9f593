// Shell patterns on relative paths.
#pragma once

#include <string_view>

namespace wdelta {

// `*` stands for any run of characters, a slash included, `?` for one; everything else for itself.
bool GlobMatch(std::string_view pattern, std::string_view text);

}  // namespace wdelta
