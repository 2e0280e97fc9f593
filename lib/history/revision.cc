#include "history/revision.h"

#include <algorithm>

#include "core/text.h"

namespace wdelta {

namespace {

constexpr const char* kForms = "HEAD, HEAD~3, 17, step:95, a tag, or eight or more hexadecimal digits of a state";

bool IsStatePrefix(std::string_view text) {
  return text.size() >= 8 && text.size() <= 64 &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Error BadRevision(std::string_view text) {
  return Error{ErrorKind::kUsage, "'" + Shorten(text) + "' names no record",
               "after the '@' of a remote stands " + std::string(kForms)};
}

// Where the revision of a remote begins: the last '@', unless a path goes on after it (a user in front of a host).
size_t RevisionMark(const std::string& text) {
  const size_t at = text.rfind('@');
  return at != std::string::npos && text.find('/', at) == std::string::npos ? at : std::string::npos;
}

}  // namespace

Result<Revision> ParseRevision(std::string_view text) {
  if (text == "HEAD") return Revision{};
  if (const bool is_step = text.starts_with("step:"); is_step || text.starts_with("HEAD~")) {
    const std::optional<uint64_t> number = WholeNumber(text.substr(5));
    if (!number) return BadRevision(text);
    return Revision{is_step ? Revision::Kind::kStep : Revision::Kind::kHead, *number, {}};
  }
  // A long row of digits is a state; records are not counted that far.
  if (const std::optional<uint64_t> number = WholeNumber(text); number && text.size() < 13) {
    return Revision{Revision::Kind::kNumber, *number, {}};
  }
  if (IsStatePrefix(text)) return Revision{Revision::Kind::kState, 0, std::string(text)};
  if (!CheckTagName(text).ok()) return BadRevision(text);
  return Revision{Revision::Kind::kTag, 0, std::string(text)};
}

Result<RemoteName> ParseRemoteName(const std::string& text) {
  const size_t at = RevisionMark(text);
  if (at == std::string::npos) return RemoteName{text, {}, false};
  WD_ASSIGN(Revision revision, ParseRevision(std::string_view(text).substr(at + 1)));
  return RemoteName{text.substr(0, at), std::move(revision), true};
}

Result<RemoteRange> ParseRemoteRange(const std::string& text) {
  const size_t at = RevisionMark(text);
  const size_t dots = at == std::string::npos ? std::string::npos : text.find("..", at);
  if (dots == std::string::npos) {
    WD_ASSIGN(const RemoteName name, ParseRemoteName(text));
    RemoteRange range{name.url, std::nullopt, std::nullopt};
    if (name.given) range.first = range.last = name.revision;
    return range;
  }
  RemoteRange range{text.substr(0, at), std::nullopt, std::nullopt};
  const std::string_view first = std::string_view(text).substr(at + 1, dots - at - 1);
  const std::string_view last = std::string_view(text).substr(dots + 2);
  if (!first.empty()) {
    WD_ASSIGN(range.first, ParseRevision(first));
  }
  if (!last.empty()) {
    WD_ASSIGN(range.last, ParseRevision(last));
  }
  return range;
}

Result<> CheckTagName(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
  };
  const bool well_formed = !name.empty() && name.size() <= 100 && name[0] != '.' && name[0] != '-' &&
                           std::all_of(name.begin(), name.end(), allowed) && name.find("..") == std::string_view::npos;
  if (well_formed && name != "HEAD" && !WholeNumber(name) && !IsStatePrefix(name)) return {};
  return Error{ErrorKind::kUsage, "'" + Shorten(name) + "' cannot be the name of a tag",
               "a tag has small letters, digits, '.', '-' and '_', and does not look like a number or a state"};
}

}  // namespace wdelta
