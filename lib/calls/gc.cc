// Collecting garbage: objects that no record which is kept needs any more. Records themselves always stay.
//
// What is committed or pinned while this runs has to be seen before anything is removed, so objects are listed first,
// a sweep is announced (collection_fence.h), and records and pins are read after that. A sweep is short; what is not
// done by its end is done by the next, which reads records and pins again.
#include "calls/gc.h"

#include <algorithm>
#include <set>

#include "sync/collection_fence.h"
#include "sync/record_info.h"
#include "sync/remote_history.h"

namespace wdelta {

namespace {

struct Listed {
  std::vector<ObjectInfo> objects;
  std::set<std::string> keys;
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
    for (const ObjectInfo& object : page.objects) listed.keys.insert(object.key);
    std::move(page.objects.begin(), page.objects.end(), std::back_inserter(listed.objects));
    if (!more) return listed;
  }
}

// Everything that leads to the records that are kept.
class Needed {
 public:
  Needed(const std::vector<RecordEntry>& entries, const std::vector<AddedWay>& added, const Listed& listed)
      : entries_(entries), added_(added), listed_(listed) {}

  // The way to a record: from the newest anchor at or before it, by deltas. All anchors of equal standing are kept. An
  // anchor of which something is missing is no reason to let go of what lies before it.
  void Keep(uint64_t number) {
    for (uint64_t at = number; at > 0; --at) {
      const RecordEntry& entry = entries_[at - 1];
      bool anchored = entry.anchor && IsThere(*entry.anchor);
      if (entry.anchor) Add(*entry.anchor);
      for (const AddedWay& way : added_) {
        if (way.number != at || !way.way.anchor() || way.state != entry.state) continue;
        Add(way.way);
        anchored = anchored || IsThere(way.way);
      }
      if (anchored) return;
      if (entry.delta) Add(*entry.delta);
      if (!kept_.insert(at).second) return;  // the rest of the way is kept already
    }
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
  void KeepPinned(std::set<std::string> keys) { keys_.merge(keys); }
  bool Has(const std::string& key) const { return keys_.contains(key); }

 private:
  bool IsThere(const Way& way) const {
    return std::all_of(way.objects.begin(), way.objects.end(),
                       [&](const ObjectRef& object) { return listed_.keys.contains(ObjectKey(object.sha256)); });
  }
  void Add(const Way& way) {
    for (const ObjectRef& object : way.objects) keys_.insert(ObjectKey(object.sha256));
  }
  const std::vector<RecordEntry>& entries_;
  const std::vector<AddedWay>& added_;
  const Listed& listed_;
  std::set<uint64_t> kept_;
  std::set<std::string> keys_;
};

class Collector {
 public:
  Collector(const GcRequest& request, Remote& remote, Remote& remover, const StopToken& stop, Listed listed)
      : request_(request), remote_(remote), remover_(remover), stop_(stop), listed_(std::move(listed)) {}

  Result<GcReport> Run() {
    do {
      std::optional<Sweep> sweep;
      if (request_.remove) {
        WD_ASSIGN(Sweep announced, Sweep::Announce(remote_));
        sweep.emplace(std::move(announced));
      }
      WD_ASSIGN(const Needed needed, ReadNeeded());
      if (sweep && sweep->over()) {
        return Error{ErrorKind::kTransient,
                     "reading the history of '" + remote_.url() + "' took longer than " +
                         std::to_string(static_cast<int>(kSweepSeconds)) + " s, after which nothing may be removed",
                     "try again where the store is nearer"};
      }
      WD_TRY(Clear(needed, sweep));
    } while (at_ < listed_.objects.size());
    return report_;
  }

 private:
  Result<Needed> ReadNeeded() {
    RemoteHistory history(remote_);
    WD_ASSIGN(const uint64_t tip, history.FindExistingTip());
    WD_ASSIGN(entries_, history.Entries(1, tip));
    WD_ASSIGN(const auto tags, history.ReadTags());
    WD_ASSIGN(added_, history.ReadAddedWays());
    uint64_t first = tip >= request_.keep ? tip - request_.keep + 1 : 1;
    for (const RecordEntry& entry : entries_) {
      const bool young = request_.keep_for > 0 &&
                         static_cast<double>(listed_.now) - static_cast<double>(entry.created) <= request_.keep_for;
      if (young) first = std::min(first, entry.number);
    }
    Needed needed(entries_, added_, listed_);
    for (uint64_t number = first; number <= tip; ++number) needed.Keep(number);
    needed.KeepDeltasFrom(first);
    for (const auto& [tag_name, tag] : tags) {
      if (tag.number <= tip) needed.Keep(tag.number);
    }
    WD_ASSIGN(std::set<std::string> pinned,
              PinnedObjects(remote_, std::max(request_.grace, kLeastPinLife), request_.remove));
    needed.KeepPinned(std::move(pinned));
    report_.records = tip;
    report_.first_kept = first;
    return needed;
  }

  // Goes on with the objects where the sweep before ended.
  Result<> Clear(const Needed& needed, const std::optional<Sweep>& sweep) {
    for (; at_ < listed_.objects.size(); ++at_) {
      if (sweep && sweep->over()) return {};
      WD_TRY(stop_.Check());
      const ObjectInfo& object = listed_.objects[at_];
      // Both times are whole seconds, so that the object may be almost one younger than it looks.
      const double age = static_cast<double>(listed_.now) - static_cast<double>(object.modified);
      const bool too_young = request_.grace > 0 && age < request_.grace + 1;
      const bool unneeded = !needed.Has(object.key);
      if (unneeded && !too_young) WD_TRY(Remove(object));
      report_.objects_total += 1;
      report_.bytes_total += object.size;
      if (unneeded && too_young) report_.objects_too_young += 1;
    }
    return {};
  }

  Result<> Remove(const ObjectInfo& object) {
    if (request_.remove) {
      // Another collector may have removed it since it was listed, and a pusher sent it anew.
      WD_ASSIGN(const std::optional<ObjectInfo> now, remote_.Stat(object.key));
      if (!now || now->modified != object.modified) return {};
      WD_TRY(remover_.Remove(object.key));
    }
    report_.objects_removed += 1;
    report_.bytes_removed += object.size;
    return {};
  }

  const GcRequest& request_;
  Remote& remote_;
  Remote& remover_;
  const StopToken& stop_;
  const Listed listed_;
  size_t at_ = 0;
  std::vector<RecordEntry> entries_;
  std::vector<AddedWay> added_;
  GcReport report_;
};

// A removal must not be under way for longer than pushers wait for a sweep. Attempts, and the pauses between them that
// a store may ask for, have to fit into what is left of that after the sweep's own time.
TransferOptions Impatient(TransferOptions transfer) {
  constexpr double kAttempt = 30;
  transfer.retries = std::min(transfer.retries, 2U);
  transfer.timeout = transfer.timeout > 0 ? std::min(transfer.timeout, kAttempt) : kAttempt;
  return transfer;
}

}  // namespace

Result<GcReport> GcFrom(Remote& remote, Remote& remover, const GcRequest& request, const StopToken& stop) {
  WD_ASSIGN(Listed listed, ListObjects(remote));
  return Collector(request, remote, remover, stop, std::move(listed)).Run();
}

Result<GcReport> Gc(const GcRequest& request, const Context& context) {
  WD_ASSIGN(const RemoteName name, ParseRemoteName(request.remote));
  if (name.given) return Error{ErrorKind::kUsage, "garbage is collected in a whole history, not in one of its records"};
  WD_ASSIGN(const std::unique_ptr<Remote> remote, OpenRemote(name.url, request.transfer, context));
  WD_ASSIGN(const std::unique_ptr<Remote> remover, OpenRemote(name.url, Impatient(request.transfer), context));
  return GcFrom(*remote, *remover, request, context.stop);
}

}  // namespace wdelta
