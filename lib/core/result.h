// Errors are values. A function that can fail returns Result<T>: the value, or an Error that says what went wrong.
// Nothing in the library throws for a bad input, a full disk or a wrong checkpoint.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace wdelta {

// What kind of failure it is: what a caller may want to do about it. The program turns each into an exit code.
enum class ErrorKind {
  kUsage,        // the request makes no sense; nothing was touched
  kNotFound,     // a file, a tensor, a link of a chain is not there
  kIntegrity,    // content is malformed, oversized, or fails its digest
  kConflict,     // wrong base, or the source changed while it was read
  kBusy,         // somebody else holds the lock
  kTransient,    // the same call may work later
  kDenied,       // authentication or permission
  kLocalIo,      // no space, read-only, a failing disk
  kRefused,      // policy: hostile path, unknown format version
  kHook,         // the data are in place; what was to run afterwards failed
  kInterrupted,  // a stop was requested (stop.h)
};

// What failed and why, lower case, without a full stop. The other fields are filled where they are known.
struct Error {
  ErrorKind kind = ErrorKind::kLocalIo;
  std::string message{};
  std::string hint{};      // the next thing to try, in its own sentence
  std::string path{};      // the file at fault
  std::string tensor{};    // the tensor at fault
  std::string expected{};  // what should have been there
  std::string found{};     // what was there
  double retry_after = 0;  // kTransient: seconds that the other side asked to be left alone

  // The same with more of its fields: Error{kind, message}.At(path).
  Error At(std::string_view file) && {
    path = file;
    return std::move(*this);
  }
  Error OfTensor(std::string_view name) && {
    tensor = name;
    return std::move(*this);
  }
  Error Compared(std::string wanted, std::string actual) && {
    expected = std::move(wanted);
    found = std::move(actual);
    return std::move(*this);
  }
};

// Either a T or an Error. The error lives on the heap, so that a Result of a small value stays small.
template <class T = void>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                               // NOLINT(google-explicit-constructor)
  Result(Error error) : error_(std::make_unique<Error>(std::move(error))) {}  // NOLINT(google-explicit-constructor)
  Result(std::unique_ptr<Error> error) : error_(std::move(error)) {}          // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_; }
  const Error& error() const { return *error_; }
  std::unique_ptr<Error> TakeError() { return std::move(error_); }

  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  std::unique_ptr<Error> error_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::make_unique<Error>(std::move(error))) {}  // NOLINT(google-explicit-constructor)
  Result(std::unique_ptr<Error> error) : error_(std::move(error)) {}          // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_; }
  const Error& error() const { return *error_; }
  std::unique_ptr<Error> TakeError() { return std::move(error_); }

 private:
  std::unique_ptr<Error> error_;
};

}  // namespace wdelta
