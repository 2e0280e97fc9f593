// The edge of the library, where exceptions end. Nothing in the library throws on purpose, but the standard library
// does when there is no memory, and a callback of the user may. Each public call is made through Guarded, which turns
// what was thrown into an Error.
#pragma once

#include "core/result.h"

namespace wdelta {

// About the exception that is being handled.
Error ErrorOfException();

// call(arguments...), which returns a Result.
template <class Call, class... Arguments>
auto Guarded(const Call& call, const Arguments&... arguments) -> decltype(call(arguments...)) {
  try {
    return call(arguments...);
  } catch (...) {
    return ErrorOfException();
  }
}

}  // namespace wdelta
