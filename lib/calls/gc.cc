// gc: removes objects that no kept record needs. Records themselves always stay.
//
// gc has to see what is committed or pinned while it runs before it removes anything. So it lists the objects first,
// then announces a sweep (gc_fence.h), and reads records and pins after that. A sweep is short; the next sweep, which
// reads records and pins again, goes on where this one ended.
#include "calls/gc.h"

#include <algorithm>
#include <set>

#include "core/boundary.h"
#include "sync/gc_fence.h"
#include "sync/record_info.h"
#include "sync/session.h"
#include "wdelta.h"

namespace wdelta {

namespace {

// Everything that leads to the records that are kept.
class Needed {
 public:
  Needed(const std::vector<RecordEntry>& entries, const std::vector<AddedWay>& added, const Listing& objects)
      : entries_(entries), added_(added), objects_(objects.objects) {}

  // What leads to a record: the newest anchor at or before it, and the deltas from there on. All anchors of that record
  // are kept. An anchor with a missing object does not count: what lies before it is kept, too.
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
                       [&](const ObjectRef& object) { return IsListed(ObjectKey(object.sha256)); });
  }
  bool IsListed(const std::string& key) const {  // they are in the order of their keys
    const auto before = [](const ObjectInfo& object, const std::string& wanted) { return object.key < wanted; };
    const auto at = std::lower_bound(objects_.begin(), objects_.end(), key, before);
    return at != objects_.end() && at->key == key;
  }
  void Add(const Way& way) {
    for (const ObjectRef& object : way.objects) keys_.insert(ObjectKey(object.sha256));
  }
  const std::vector<RecordEntry>& entries_;
  const std::vector<AddedWay>& added_;
  const std::vector<ObjectInfo>& objects_;
  std::set<uint64_t> kept_;
  std::set<std::string> keys_;
};

class GcRun {
 public:
  GcRun(const GcRequest& request, Remote& remote, Remote& remover, const StopToken& stop, Listing listing)
      : request_(request), remote_(remote), remover_(remover), stop_(stop), listing_(std::move(listing)) {}

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
    } while (at_ < listing_.objects.size());
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
                         static_cast<double>(listing_.now) - static_cast<double>(entry.created) <= request_.keep_for;
      if (young) first = std::min(first, entry.number);
    }
    Needed needed(entries_, added_, listing_);
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
    for (; at_ < listing_.objects.size(); ++at_) {
      if (sweep && sweep->over()) return {};
      WD_TRY(stop_.Check());
      const ObjectInfo& object = listing_.objects[at_];
      // Both times are whole seconds, so that the object may be almost one younger than it looks.
      const double age = static_cast<double>(listing_.now) - static_cast<double>(object.modified);
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
      // Another gc may have removed it since it was listed, and a push sent it anew.
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
  const Listing listing_;
  size_t at_ = 0;
  std::vector<RecordEntry> entries_;
  std::vector<AddedWay> added_;
  GcReport report_;
};

// A removal must not be under way for longer than pushers wait for a sweep. The attempts, and the pauses that a store
// may ask for between them, have to fit into what is left of that time after the sweep's own.
TransferOptions Impatient(TransferOptions transfer) {
  constexpr double kAttempt = 30;
  transfer.retries = std::min(transfer.retries, 2U);
  transfer.timeout = transfer.timeout > 0 ? std::min(transfer.timeout, kAttempt) : kAttempt;
  return transfer;
}

}  // namespace

Result<GcReport> GcFrom(Remote& remote, Remote& remover, const GcRequest& request, const StopToken& stop) {
  WD_ASSIGN(Listing listing, ListAll(remote, kObjectPrefix));
  return GcRun(request, remote, remover, stop, std::move(listing)).Run();
}

namespace {

Result<GcReport> DoGc(const GcRequest& request, const Context& context) {
  const char* why_not = "garbage is collected in a whole history, not in one of its records";
  WD_ASSIGN(const Session session, Session::OpenWhole(request.remote, request.transfer, context, why_not));
  WD_ASSIGN(const Session remover, Session::Open(request.remote, Impatient(request.transfer), context));
  return GcFrom(session.remote(), remover.remote(), request, context.stop);
}

}  // namespace

Result<GcReport> Gc(const GcRequest& request, const Context& context) {
  return Guarded(DoGc, request, context);
}

}  // namespace wdelta
