#include "core/environment.h"

#include <unistd.h>

namespace wdelta {

// The one place that reads it. Nothing in the library ever changes it.
Environment ProcessEnvironment() {
  Environment::Variables variables;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const size_t sign = text.find('=');
    if (sign != std::string_view::npos) variables.emplace(text.substr(0, sign), text.substr(sign + 1));
  }
  return Environment(std::move(variables));
}

}  // namespace wdelta
