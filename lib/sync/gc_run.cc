// gc: removes objects that no kept record needs. Records themselves always stay.
//
// gc has to see what is committed or pinned while it runs before it removes anything. So it lists the objects first,
// then announces a sweep (gc_fence.h), and reads records and pins after that. A sweep is short; the next sweep, which
// reads records and pins again, goes on where this one ended.
#include <algorithm>
#include <set>

#include "sync/gc_fence.h"
#include "sync/remote_history.h"

namespace wdelta {

namespace {

class GcRun {
 public:
  GcRun(const GcOptions& options, Remote& remote, Remote& remover, const StopToken& stop, Listing listing)
      : options_(options), remote_(remote), remover_(remover), stop_(stop), listing_(std::move(listing)) {}

  Result<GcReport> Run() {
    do {
      std::optional<Sweep> sweep;
      if (options_.remove) {
        WD_ASSIGN(Sweep announced, Sweep::Announce(remote_));
        sweep.emplace(std::move(announced));
      }
      WD_TRY(FindNeeded());
      if (sweep && sweep->over()) {
        return Error{ErrorKind::kTransient,
                     "reading the history of '" + remote_.url() + "' took longer than " +
                         std::to_string(static_cast<int>(kSweepSeconds)) + " s, after which nothing may be removed",
                     "try again where the store is nearer"};
      }
      WD_TRY(Clear(sweep));
    } while (at_ < listing_.objects.size());
    return report_;
  }

 private:
  // ---- What is needed: everything that leads to the records that are kept ----

  Result<> FindNeeded() {
    RemoteHistory history(remote_);
    WD_ASSIGN(const uint64_t tip, history.FindExistingTip());
    WD_ASSIGN(entries_, history.Entries(1, tip));
    WD_ASSIGN(const auto tags, history.ReadTags());
    WD_ASSIGN(added_, history.ReadAddedWays());
    uint64_t first = tip >= options_.keep ? tip - options_.keep + 1 : 1;
    for (const RecordEntry& entry : entries_) {
      const bool young = options_.keep_for > 0 &&
                         static_cast<double>(listing_.now) - static_cast<double>(entry.created) <= options_.keep_for;
      if (young) first = std::min(first, entry.number);
    }
    WD_ASSIGN(needed_, PinnedObjects(remote_, std::max(options_.grace, kLeastPinLife), options_.remove));
    kept_.clear();
    for (uint64_t number = first; number <= tip; ++number) Keep(number);
    KeepDeltasFrom(first);
    for (const auto& [tag_name, tag] : tags) {
      if (tag.number <= tip) Keep(tag.number);
    }
    report_.records = tip;
    report_.first_kept = first;
    return {};
  }

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

  void Add(const Way& way) {
    for (const ObjectRef& object : way.objects) needed_.insert(ObjectKey(object.sha256));
  }

  bool IsThere(const Way& way) const {  // the objects are listed in the order of their keys
    return std::ranges::all_of(way.objects, [&](const ObjectRef& object) {
      return std::ranges::binary_search(listing_.objects, ObjectKey(object.sha256), {}, &ObjectInfo::key);
    });
  }

  // ---- What is removed ----

  // Goes on with the objects where the sweep before ended.
  Result<> Clear(const std::optional<Sweep>& sweep) {
    for (; at_ < listing_.objects.size(); ++at_) {
      if (sweep && sweep->over()) return {};
      WD_TRY(stop_.Check());
      const ObjectInfo& object = listing_.objects[at_];
      // Both times are whole seconds, so that the object may be almost one younger than it looks.
      const double age = static_cast<double>(listing_.now) - static_cast<double>(object.modified);
      const bool too_young = options_.grace > 0 && age < options_.grace + 1;
      const bool unneeded = !needed_.contains(object.key);
      if (unneeded && !too_young) WD_TRY(Remove(object));
      report_.objects_total += 1;
      report_.bytes_total += object.size;
      if (unneeded && too_young) report_.objects_too_young += 1;
    }
    return {};
  }

  Result<> Remove(const ObjectInfo& object) {
    if (options_.remove) {
      // Another gc may have removed it since it was listed, and a push sent it anew.
      WD_ASSIGN(const std::optional<ObjectInfo> now, remote_.Stat(object.key));
      if (!now || now->modified != object.modified) return {};
      WD_TRY(remover_.Remove(object.key));
    }
    report_.objects_removed += 1;
    report_.bytes_removed += object.size;
    return {};
  }

  const GcOptions& options_;
  Remote& remote_;
  Remote& remover_;
  const StopToken& stop_;
  const Listing listing_;
  size_t at_ = 0;
  std::vector<RecordEntry> entries_;
  std::vector<AddedWay> added_;
  std::set<uint64_t> kept_;       // records up to which the way is kept
  std::set<std::string> needed_;  // keys
  GcReport report_;
};

}  // namespace

Result<GcReport> GcFrom(Remote& remote, Remote& remover, const GcOptions& options, const StopToken& stop) {
  WD_ASSIGN(Listing listing, ListAll(remote, kObjectPrefix));
  return GcRun(options, remote, remover, stop, std::move(listing)).Run();
}

}  // namespace wdelta
