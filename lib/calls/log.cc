// Reading a history without its packs.
#include <algorithm>

#include "calls/inner.h"
#include "core/boundary.h"

namespace wdelta {

Result<std::vector<RecordInfo>> ReadLog(const LogRequest& request, const Context& context) {
  WD_ASSIGN(const RemoteRange range, ParseRemoteRange(request.remote));
  WD_ASSIGN(std::unique_ptr<Remote> remote, OpenRemote(range.url, request.transfer, context));
  Session session(std::move(remote));
  RemoteHistory& history = session.history();
  uint64_t first = 1, last = 0;
  WD_ASSIGN(last, history.FindExistingTip());
  if (range.last) {
    WD_ASSIGN(const RecordEntry entry, history.Resolve(*range.last));
    last = entry.number;
  }
  if (range.first) {
    WD_ASSIGN(const RecordEntry entry, history.Resolve(*range.first));
    first = entry.number;
  }
  if (request.most > 0 && last >= request.most) first = std::max(first, last - request.most + 1);
  if (first > last) {
    return Error{ErrorKind::kUsage, "record " + std::to_string(first) + " comes after record " + std::to_string(last)};
  }
  WD_ASSIGN(const std::vector<RecordEntry> entries, history.Entries(first, last));
  std::vector<RecordInfo> infos;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) infos.push_back(InfoOf(*entry));
  // A mirror that cannot list has its tags, but does not tell which.
  const Result<std::vector<std::pair<std::string, Tag>>> tags = history.ReadTags();
  if (tags.ok()) {
    for (const auto& [name, tag] : *tags) {
      if (tag.number >= first && tag.number <= last) infos[last - tag.number].tags.push_back(name);
    }
  }
  WD_ASSIGN(const std::vector<AddedWay> ways, history.ReadAddedWays());
  for (const AddedWay& added : ways) {
    if (added.way.anchor() && added.number >= first && added.number <= last) {
      infos[last - added.number].anchor_bytes = added.way.bytes();
    }
  }
  return infos;
}

Result<std::vector<RecordInfo>> Log(const LogRequest& request, const Context& context) {
  return Guarded(ReadLog, request, context);
}

}  // namespace wdelta
