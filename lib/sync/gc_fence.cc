#include "sync/gc_fence.h"

#include <utility>

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

Result<> WriteNew(Remote& remote, const std::string& key) {
  WD_TRY(remote.Write(key, MemorySource(AsBytes(key)), WriteRule::kReplace));
  return {};
}

}  // namespace

// Only the sweeps that are there at first count: later ones see the pins.
Result<> WaitForSweeps(Remote& remote, const Context& context) {
  Result<std::set<std::string>> at_first = LivingSweeps(remote);
  if (!at_first.ok() && CannotList(at_first.error())) return {};
  if (!at_first.ok()) return at_first.TakeError();
  if (!at_first->empty()) context.note("waiting for a collection of garbage, because old objects are to be kept");
  const Stopwatch watch;
  for (std::set<std::string> waiting = *at_first; !waiting.empty() && watch.seconds() < kSweepDead;) {
    WD_TRY(SleepFor(kPollPause, context.stop));
    WD_ASSIGN(const std::set<std::string> living, LivingSweeps(remote));
    std::erase_if(waiting, [&](const std::string& key) { return !living.contains(key); });
  }
  return {};
}

Result<Pins> Pins::Put(Remote& remote, const std::vector<ObjectRef>& objects, const Context& context) {
  Pins pins(remote);
  for (const ObjectRef& object : objects) {
    const std::string key = kPinPrefix + Hex(object.sha256) + "/" + RandomHex(16);
    pins.keys_.push_back(key);
    WD_TRY(WriteNew(remote, key));
  }
  if (!objects.empty()) WD_TRY(WaitForSweeps(remote, context));
  return pins;
}

Pins::~Pins() {
  // A pin that cannot be removed keeps its object a while longer than needed, and does no other harm.
  for (const std::string& key : keys_) static_cast<void>(remote_->Remove(key));
}

Sweep::Sweep(Remote& remote) : remote_(&remote), key_(kSweepPrefix + RandomHex(16)) {}

Sweep::Sweep(Sweep&& other) noexcept
    : remote_(other.remote_), key_(std::exchange(other.key_, {})), watch_(other.watch_) {}

Sweep::~Sweep() {
  if (!key_.empty()) static_cast<void>(remote_->Remove(key_));
}

Result<Sweep> Sweep::Announce(Remote& remote) {
  Sweep sweep(remote);
  WD_TRY(WriteNew(remote, sweep.key_));
  WD_ASSIGN(const Listing sweeps, ListAll(remote, kSweepPrefix));
  for (const ObjectInfo& other : sweeps.objects) {
    if (other.key == sweep.key_) continue;
    if (AgeOf(other, sweeps) < kSweepDead) {
      return Error{ErrorKind::kBusy,
                   "somebody else collects the garbage of '" + remote.url() + "' since " +
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
