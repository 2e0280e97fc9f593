#include "core/boundary.h"

#include <exception>
#include <new>

namespace wdelta {

Error ErrorOfException() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::kLocalIo, "out of memory", "fewer '--threads' need less"};
  } catch (const std::exception& thrown) {
    return Error{ErrorKind::kLocalIo, std::string("unexpected: ") + thrown.what()};
  } catch (...) {
    return Error{ErrorKind::kLocalIo, "unexpected: something that is not a std::exception was thrown"};
  }
}

}  // namespace wdelta
