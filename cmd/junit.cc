#include "junit.h"

#include <algorithm>

#include "markup.h"
#include "ui.h"

namespace wdelta {

namespace {

std::string XmlText(std::string_view text) {
  return EscapeMarkup(TerminalText(text));
}

}  // namespace

std::string JunitText(const std::string& suite, const std::vector<TestCase>& test_cases) {
  const auto failures = std::count_if(test_cases.begin(), test_cases.end(),
                                      [](const TestCase& test) { return test.failure.has_value(); });
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"" + XmlText(suite) + "\" tests=\"" +
                     std::to_string(test_cases.size()) + "\" failures=\"" + std::to_string(failures) + "\">\n";
  for (const TestCase& test : test_cases) {
    text += "  <testcase classname=\"" + XmlText(suite) + "\" name=\"" + XmlText(test.name) + '"';
    if (!test.failure) {
      text += "/>\n";
      continue;
    }
    text += ">\n    <failure type=\"" + std::string(ErrorKindName(test.failure->kind)) + "\" message=\"" +
            XmlText(test.failure->message) + "\">" + XmlText(test.failure->hint) + "</failure>\n  </testcase>\n";
  }
  return text + "</testsuite>\n";
}

}  // namespace wdelta
