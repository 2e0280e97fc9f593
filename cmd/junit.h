// The report that CI systems read: one test case for each thing that was checked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wdelta.h"

namespace wdelta {

struct TestCase {
  std::string name;
  std::optional<Error> failure;
};

// An XML document. Names may hold any bytes: what XML cannot carry is shown as an escape.
std::string JunitText(const std::string& suite, const std::vector<TestCase>& test_cases);

}  // namespace wdelta
