// What keeps a collector of garbage and a pusher from harming each other.
//
// An object that a pusher uploads is safe because it is young: a collector leaves what is younger than its grace period
// alone. An object that was there already may be old and unneeded until now. Looking after the commit whether it is
// still there is not enough: a collector that read the records before the commit may remove it after that look. So each
// says what it is about to do before it looks at what the other does.
//
//   the pusher     puts a pin on the object, then waits for the sweeps under way, then looks whether it is still there
//   the collector  announces a sweep, then reads pins and records, then removes
//
// Whoever comes second sees the first. A tag is such a saying, too: who puts one waits as well. All this is done before
// the commit, so that a crash leaves a pin and no damage. Pins and sweeps are small objects of the store, see
// wdelta-remote(5). Those that a crash leaves count for a while only. A push that reuses nothing neither pins nor asks.
#pragma once

#include <set>

#include "core/stopwatch.h"
#include "history/record.h"
#include "remote/remote.h"
#include "wdelta.h"

namespace wdelta {

inline constexpr const char* kPinPrefix = "pins/";
inline constexpr const char* kSweepPrefix = "sweeps/";
inline constexpr double kSweepSeconds = 60;  // a collector removes nothing later than that after it announced its sweep
inline constexpr double kSweepDead = 300;    // seconds after which nobody waits for a sweep: whoever made it is gone
inline constexpr double kLeastPinLife = 3600;  // seconds for which a pin holds, or the grace period if that is longer

// Pins that are taken off when it goes out of scope.
class Pins {
 public:
  // Returns when no sweep that began before can take the objects any more. Whether they are there is then for the
  // caller to see. Where the remote may not be listed nothing is waited for.
  static Result<Pins> Put(Remote& remote, const std::vector<ObjectRef>& objects, const Context& context);
  Pins(Pins&&) = default;
  ~Pins();

 private:
  explicit Pins(Remote& remote) : remote_(&remote) {}
  Remote* remote_;
  std::vector<std::string> keys_;
};

// Returns when the sweeps under way are over: what was said before, by a pin or a tag, is seen by all later ones. Where
// the remote may not be listed nothing is waited for.
Result<> WaitForSweeps(Remote& remote, const Context& context);

// A sweep of a collector, from its announcement to the end of its scope. There is one at a time.
class Sweep {
 public:
  // kBusy while another collector sweeps.
  static Result<Sweep> Announce(Remote& remote);
  Sweep(Sweep&& other) noexcept;
  ~Sweep();
  // No more may be removed: another sweep has to be announced, and pins and records read again.
  bool over() const { return watch_.seconds() > kSweepSeconds; }

 private:
  explicit Sweep(Remote& remote);
  Remote* remote_;
  std::string key_;
  Stopwatch watch_;
};

// The keys of the objects that have a pin which is younger than `life` seconds. With `tidy`, older pins are removed.
Result<std::set<std::string>> PinnedObjects(Remote& remote, double life, bool tidy);

}  // namespace wdelta
