// Small text files that a command leaves for other programs: --report and --junit.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wdelta.h"

namespace wdelta {

// Writes `text` to `path` under a temporary name and renames it, so that a reader sees the old file or the whole new
// one. A link or a device (/dev/stderr) is written to directly: a rename would replace it.
Result<> WriteTextFile(const std::string& path, std::string_view text);

// All of `text` to a descriptor; 0, or the errno.
int WriteAll(int descriptor, std::string_view text);

// The report that CI systems read: one test case for each thing that was checked.
struct TestCase {
  std::string name;
  std::optional<Error> failure;
};
// An XML document. Names may hold any bytes: what XML cannot carry is shown as an escape.
std::string JunitText(const std::string& suite, const std::vector<TestCase>& test_cases);

}  // namespace wdelta
