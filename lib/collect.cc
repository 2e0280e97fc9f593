// Collecting garbage: objects that no record which is kept needs any more. Records themselves always stay.
#include <algorithm>
#include <set>

#include "record_info.h"
#include "remote_history.h"

namespace wdelta {

namespace {

struct Listed {
  std::vector<ObjectInfo> objects;
  int64_t now = 0;  // by the store's clock
};

Result<Listed> ListObjects(Remote& remote) {
  Listed listed;
  std::string after;
  for (;;) {
    WD_ASSIGN(ObjectPage page, remote.List(kObjectPrefix, after, 1000));
    if (listed.now == 0) listed.now = page.now;
    const bool more = page.more && !page.objects.empty();
    if (more) after = page.objects.back().key;
    std::move(page.objects.begin(), page.objects.end(), std::back_inserter(listed.objects));
    if (!more) return listed;
  }
}

// Everything that leads to the records that are kept.
class Needed {
 public:
  Needed(const std::vector<RecordEntry>& entries, const std::vector<AddedWay>& added)
      : entries_(entries), added_(added) {}

  // The way to a record: from the newest anchor at or before it, by deltas. All anchors of equal standing are kept.
  Result<> Keep(uint64_t number) {
    uint64_t at = number;
    for (;; --at) {
      if (at == 0) {
        return Error{ErrorKind::kIntegrity, "no anchor leads to record " + std::to_string(number),
                     "nothing was removed"};
      }
      const RecordEntry& entry = entries_[at - 1];
      bool anchored = entry.anchor.has_value();
      if (entry.anchor) Add(*entry.anchor);
      for (const AddedWay& way : added_) {
        if (way.number != at || !way.way.anchor() || way.state != entry.state) continue;
        Add(way.way);
        anchored = true;
      }
      if (anchored) break;
      if (entry.delta) Add(*entry.delta);
      if (!kept_.insert(at).second) break;  // the rest of the way is kept already
    }
    return {};
  }
  // A replica that is just before `first` can follow to the end.
  void KeepDeltasFrom(uint64_t first) {
    for (const RecordEntry& entry : entries_) {
      if (entry.number >= first && entry.delta) Add(*entry.delta);
      if (entry.number >= first && entry.anchor) Add(*entry.anchor);
    }
    for (const AddedWay& way : added_) {
      if (way.number >= first && (way.way.anchor() || way.way.from >= first)) Add(way.way);
    }
  }
  bool Has(const std::string& key) const { return keys_.contains(key); }

 private:
  void Add(const Way& way) {
    for (const ObjectRef& object : way.objects) keys_.insert(ObjectKey(object.sha256));
  }
  const std::vector<RecordEntry>& entries_;
  const std::vector<AddedWay>& added_;
  std::set<uint64_t> kept_;
  std::set<std::string> keys_;
};

}  // namespace

Result<CollectReport> Collect(const CollectRequest& request, const Context& context) {
  WD_ASSIGN(const RemoteName name, ParseRemoteName(request.remote));
  if (name.given) return Error{ErrorKind::kUsage, "garbage is collected in a whole history, not in one of its records"};
  WD_ASSIGN(const std::unique_ptr<Remote> remote, OpenRemote(name.url, request.transfer, context.note));
  // Objects first, records after: what is committed in between is then seen as needed. What is uploaded and not yet
  // committed is too young.
  WD_ASSIGN(const Listed listed, ListObjects(*remote));
  RemoteHistory history(*remote);
  WD_ASSIGN(const uint64_t tip, history.FindExistingTip());
  WD_ASSIGN(const std::vector<RecordEntry> entries, history.Entries(1, tip));
  WD_ASSIGN(const auto tags, history.ReadTags());
  WD_ASSIGN(const std::vector<AddedWay> added, history.ReadAddedWays());

  uint64_t first = tip >= request.keep ? tip - request.keep + 1 : 1;
  for (const RecordEntry& entry : entries) {
    const bool young = request.keep_for > 0 &&
                       static_cast<double>(listed.now) - static_cast<double>(entry.created) <= request.keep_for;
    if (young) first = std::min(first, entry.number);
  }
  Needed needed(entries, added);
  for (uint64_t number = first; number <= tip; ++number) WD_TRY(needed.Keep(number));
  needed.KeepDeltasFrom(first);
  for (const auto& [tag_name, tag] : tags) {
    if (tag.number <= tip) WD_TRY(needed.Keep(tag.number));
  }

  CollectReport report;
  report.records = tip;
  report.first_kept = first;
  for (const ObjectInfo& object : listed.objects) {
    report.objects_total += 1;
    report.bytes_total += object.size;
    if (needed.Has(object.key)) continue;
    const bool too_young = static_cast<double>(listed.now) - static_cast<double>(object.modified) < request.grace;
    if (too_young) {
      report.objects_too_young += 1;
      continue;
    }
    report.objects_removed += 1;
    report.bytes_removed += object.size;
    if (request.remove) WD_TRY(remote->Remove(object.key));
  }
  return report;
}

}  // namespace wdelta
