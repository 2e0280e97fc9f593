// Names of records, as people write them after the '@' of a remote.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace wdelta {

// HEAD, HEAD~3, 17, step:95, a tag, or at least eight hexadecimal digits of a state.
struct Revision {
  enum class Kind { kHead, kNumber, kStep, kTag, kState };
  Kind kind = Kind::kHead;
  uint64_t value = 0;  // of kHead: how many records before it; of kNumber and kStep: the number
  std::string text;    // of kTag: its name; of kState: the digits
};

// Fails with kUsage.
Result<Revision> ParseRevision(std::string_view text);

// "URL@REV" taken apart; without a revision it is HEAD, and `given` is false.
struct RemoteName {
  std::string url;
  Revision revision;
  bool given = false;
};
Result<RemoteName> ParseRemoteName(const std::string& text);

// "URL@A..B", "URL@A..", "URL@..B", or a plain "URL".
struct RemoteRange {
  std::string url;
  std::optional<Revision> first, last;
};
Result<RemoteRange> ParseRemoteRange(const std::string& text);

// Whether a tag may be called so: small letters, digits, '.', '-' and '_', at most 100, and nothing that could be taken
// for another kind of revision.
Result<> CheckTagName(std::string_view name);

}  // namespace wdelta
