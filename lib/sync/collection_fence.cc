#include "sync/collection_fence.h"

#include <utility>

#include "core/sleep.h"

namespace wdelta {

namespace {

constexpr double kPollPause = 0.1;  // seconds

// All objects below `prefix`, and how old each is by the store's clock.
struct Aged {
  std::string key;
  double age = 0;
};
Result<std::vector<Aged>> ListAged(Remote& remote, const std::string& prefix) {
  std::vector<Aged> all;
  std::string after;
  for (;;) {
    WD_ASSIGN(const ObjectPage page, remote.List(prefix, after, 1000));
    for (const ObjectInfo& object : page.objects) {
      all.push_back({object.key, static_cast<double>(page.now - object.modified)});
    }
    if (!page.more || page.objects.empty()) return all;
    after = page.objects.back().key;
  }
}

Result<std::set<std::string>> LivingSweeps(Remote& remote) {
  WD_ASSIGN(const std::vector<Aged> sweeps, ListAged(remote, kSweepPrefix));
  std::set<std::string> living;
  for (const Aged& sweep : sweeps) {
    if (sweep.age < kSweepDead) living.insert(sweep.key);
  }
  return living;
}

Result<> WriteNew(Remote& remote, const std::string& key) {
  WD_TRY(remote.Write(key, MemorySource(AsBytes(key)), WriteRule::kReplace));
  return {};
}

}  // namespace

// Only the sweeps that are there at first count.
Result<> WaitForSweeps(Remote& remote, const Context& context) {
  Result<std::set<std::string>> at_first = LivingSweeps(remote);
  if (!at_first.ok()) {
    const ErrorKind why = at_first.error().kind;
    if (why == ErrorKind::kRefused || why == ErrorKind::kDenied) return {};
    return at_first.TakeError();
  }
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
  // What cannot be removed holds an object for a while longer than needed, and no more.
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
  WD_ASSIGN(const std::vector<Aged> sweeps, ListAged(remote, kSweepPrefix));
  for (const Aged& other : sweeps) {
    if (other.key == sweep.key_) continue;
    if (other.age < kSweepDead) {
      return Error{ErrorKind::kBusy,
                   "somebody else collects the garbage of '" + remote.url() + "' since " +
                       std::to_string(static_cast<int64_t>(other.age)) + " s",
                   "try again later; one that was killed counts for five minutes"};
    }
    WD_TRY(remote.Remove(other.key));
  }
  return sweep;
}

Result<std::set<std::string>> PinnedObjects(Remote& remote, double life, bool tidy) {
  WD_ASSIGN(const std::vector<Aged> pins, ListAged(remote, kPinPrefix));
  std::set<std::string> pinned;
  const size_t begin = std::string_view(kPinPrefix).size(), digits = 2 * Sha256Digest{}.size();
  for (const Aged& pin : pins) {
    if (pin.key.size() <= begin + digits) continue;
    const std::string sha256 = pin.key.substr(begin, digits);
    if (pin.age < life) pinned.insert(kObjectPrefix + sha256.substr(0, 2) + "/" + sha256);
    if (pin.age >= life && tidy) WD_TRY(remote.Remove(pin.key));
  }
  return pinned;
}

}  // namespace wdelta
