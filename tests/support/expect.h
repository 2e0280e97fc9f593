// What tests expect of a Result, with the error's own words in the output when it is another.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "core/result.h"

namespace wdelta {

template <class T>
std::string Outcome(const Result<T>& result) {
  return result.ok() ? "success" : result.error().message;
}

template <class T>
bool FailsWith(const Result<T>& result, ErrorKind kind, const std::string& words) {
  return !result.ok() && result.error().kind == kind && result.error().message.find(words) != std::string::npos;
}

}  // namespace wdelta

#define REQUIRE_OK(expression)                          \
  do {                                                  \
    const auto& required_outcome = (expression);        \
    INFO(#expression, ": ", Outcome(required_outcome)); \
    REQUIRE(required_outcome.ok());                     \
  } while (false)

// It fails, with that kind, and its message holds these words.
#define CHECK_FAILS(expression, error_kind, words)        \
  do {                                                    \
    const auto& checked_outcome = (expression);           \
    INFO(#expression, ": ", Outcome(checked_outcome));    \
    CHECK(FailsWith(checked_outcome, error_kind, words)); \
  } while (false)
