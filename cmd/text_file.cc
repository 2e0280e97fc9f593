#include "text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "json_fields.h"
#include "markup.h"

namespace wdelta {

namespace {

Error CannotWrite(const std::string& path, int errno_value) {
  ErrorKind kind = ErrorKind::kLocalIo;
  if (errno_value == ENOENT || errno_value == ENOTDIR) kind = ErrorKind::kNotFound;
  if (errno_value == EACCES || errno_value == EPERM) kind = ErrorKind::kDenied;
  Error error{kind, "cannot write '" + path + "': " + std::strerror(errno_value)};
  error.path = path;
  return error;
}

// Writes and closes; 0, or the errno.
int WriteAndClose(int descriptor, std::string_view text, bool sync) {
  int failed = WriteAll(descriptor, text);
  if (!failed && sync && fsync(descriptor) != 0) failed = errno;
  if (close(descriptor) != 0 && !failed) failed = errno;
  return failed;
}

std::string XmlText(std::string_view text) {
  return EscapeMarkup(TerminalText(text));
}

}  // namespace

int WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = write(descriptor, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    text.remove_prefix(static_cast<size_t>(put));
  }
  return 0;
}

Result<> WriteTextFile(const std::string& path, std::string_view text) {
  struct stat status {};
  const bool exists = lstat(path.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    const int descriptor = open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (descriptor < 0) return CannotWrite(path, errno);
    if (const int failed = WriteAndClose(descriptor, text, false)) return CannotWrite(path, failed);
    return {};
  }
  const std::string temporary = path + ".wdelta-" + std::to_string(getpid());
  const int descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return CannotWrite(path, errno);
  int failed = WriteAndClose(descriptor, text, true);
  if (!failed && rename(temporary.c_str(), path.c_str()) != 0) failed = errno;
  if (!failed) return {};
  unlink(temporary.c_str());
  return CannotWrite(path, failed);
}

std::string JunitText(const std::string& suite, const std::vector<TestCase>& test_cases) {
  const auto failures = std::ranges::count_if(test_cases, [](auto& test) { return test.failure.has_value(); });
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"" + XmlText(suite) + "\" tests=\"" +
                     std::to_string(test_cases.size()) + "\" failures=\"" + std::to_string(failures) + "\">\n";
  for (const TestCase& test : test_cases) {
    text += "  <testcase classname=\"" + XmlText(suite) + "\" name=\"" + XmlText(test.name) + '"';
    if (!test.failure) {
      text += "/>\n";
      continue;
    }
    text += ">\n    <failure type=\"" + std::string(WordsFor(test.failure->kind).name) + "\" message=\"" +
            XmlText(test.failure->message) + "\">" + XmlText(test.failure->hint) + "</failure>\n  </testcase>\n";
  }
  return text + "</testsuite>\n";
}

}  // namespace wdelta
