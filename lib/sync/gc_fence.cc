#include "sync/gc_fence.h"

#include "core/sleep.h"

namespace wdelta {

namespace {

constexpr double kPollPause = 0.1;  // seconds

double AgeOf(const ObjectInfo& object, const Listing& listing) {
  return static_cast<double>(listing.now - object.modified);
}

Result<std::set<std::string>> LivingSweeps(Remote& remote) {
  WD_ASSIGN(const Listing sweeps, ListAll(remote, kSweepPrefix));
  std::set<std::string> living;
  for (const ObjectInfo& sweep : sweeps.objects) {
    if (AgeOf(sweep, sweeps) < kSweepDead) living.insert(sweep.key);
  }
  return living;
}

}  // namespace

// Only the sweeps that are there at first count: later ones see the pins.
Result<> WaitForSweeps(Remote& remote, const Context& context) {
  Result<std::set<std::string>> at_first = LivingSweeps(remote);
  if (!at_first.ok() && CannotList(at_first.error())) return {};
  if (!at_first.ok()) return at_first.TakeError();
  if (!at_first->empty()) context.note("waiting for a running collector to finish its sweep");
  const Stopwatch watch;
  for (std::set<std::string> waiting = *at_first; !waiting.empty() && watch.seconds() < kSweepDead;) {
    WD_TRY(SleepFor(kPollPause, context.stop));
    WD_ASSIGN(const std::set<std::string> living, LivingSweeps(remote));
    std::erase_if(waiting, [&](const std::string& key) { return !living.contains(key); });
  }
  return {};
}

Announcement::~Announcement() {
  // A pin that cannot be removed keeps its object a while longer than needed, and a sweep soon counts as dead.
  for (const std::string& key : keys_) static_cast<void>(remote_->Remove(key));
}

// Remembered before it is written: a write that fails may have happened all the same.
Result<> Announcement::Write(const std::string& key) {
  keys_.push_back(key);
  WD_TRY(remote_->Write(key, MemorySource(AsBytes(key)), WriteRule::kReplace));
  return {};
}

Result<Pins> Pins::Put(Remote& remote, const std::vector<ObjectRef>& objects, const Context& context) {
  Pins pins(remote);
  for (const ObjectRef& object : objects) {
    WD_TRY(pins.Write(kPinPrefix + Hex(object.sha256) + "/" + RandomHex(16)));
  }
  if (!objects.empty()) WD_TRY(WaitForSweeps(remote, context));
  return pins;
}

Result<Sweep> Sweep::Announce(Remote& remote) {
  Sweep sweep(remote);
  WD_TRY(sweep.Write(kSweepPrefix + RandomHex(16)));
  WD_ASSIGN(const Listing sweeps, ListAll(remote, kSweepPrefix));
  for (const ObjectInfo& other : sweeps.objects) {
    if (other.key == sweep.keys_.front()) continue;
    if (AgeOf(other, sweeps) < kSweepDead) {
      return Error{ErrorKind::kBusy,
                   "another collector has been running on '" + remote.url() + "' for " +
                       std::to_string(static_cast<int64_t>(AgeOf(other, sweeps))) + " s",
                   "try again later; one that was killed counts for five minutes"};
    }
    WD_TRY(remote.Remove(other.key));
  }
  return sweep;
}

Result<std::set<std::string>> PinnedObjects(Remote& remote, double life, bool tidy) {
  WD_ASSIGN(const Listing pins, ListAll(remote, kPinPrefix));
  std::set<std::string> pinned;
  const size_t begin = std::string_view(kPinPrefix).size(), digits = 2 * Sha256Digest{}.size();
  for (const ObjectInfo& pin : pins.objects) {
    if (pin.key.size() <= begin + digits) continue;
    const std::string sha256 = pin.key.substr(begin, digits);
    const bool holds = AgeOf(pin, pins) < life;
    if (holds) pinned.insert(kObjectPrefix + sha256.substr(0, 2) + "/" + sha256);
    if (!holds && tidy) WD_TRY(remote.Remove(pin.key));
  }
  return pinned;
}

}  // namespace wdelta
