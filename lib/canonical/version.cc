#include "canonical/version.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

namespace wdelta {

namespace {

constexpr std::string_view kFolder = "weight_v", kSpace = " \n\t\r";

bool IsPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

std::string VersionName(uint64_t version) {
  return fmt::format("{:06}", version);
}

std::string VersionFolder(uint64_t version) {
  return std::string(kFolder) + VersionName(version);
}

std::optional<uint64_t> VersionNumber(std::string_view name) {
  const std::optional<uint64_t> number = WholeNumber(name);
  return number && *number <= kMaxVersion ? number : std::nullopt;
}

std::optional<uint64_t> VersionOfFolder(std::string_view name) {
  if (!name.starts_with(kFolder)) return std::nullopt;
  const std::optional<uint64_t> number = VersionNumber(name.substr(kFolder.size()));
  return number && VersionFolder(*number) == name ? number : std::nullopt;
}

std::string PointerText(const VersionPointer& pointer) {
  return (pointer.run.empty() ? "" : pointer.run + "/") + VersionFolder(pointer.version);
}

Result<VersionPointer> ParsePointer(std::string_view text) {
  const size_t first = text.find_first_not_of(kSpace);
  const std::string_view word =
      first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
  const size_t slash = word.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? word : word.substr(slash + 1);
  const std::optional<uint64_t> version =
      name.starts_with(kFolder) ? VersionNumber(name.substr(kFolder.size())) : VersionNumber(name);
  if (!version || !IsPrintable(word)) {
    return Error{ErrorKind::kIntegrity, "'" + TerminalText(Shorten(text, 100)) + "' names no version"};
  }
  return VersionPointer{std::string(slash == std::string_view::npos ? "" : word.substr(0, slash)), *version};
}

Result<> CheckRunName(std::string_view run) {
  const bool well_formed = !run.empty() && run.size() <= 200 && IsPrintable(run) && run.find('/') == std::string::npos;
  if (well_formed) return {};
  return Error{ErrorKind::kUsage, "'" + TerminalText(Shorten(run, 100)) + "' cannot be the name of a run",
               "letters, digits and signs, without '/' and spaces"};
}

}  // namespace wdelta
