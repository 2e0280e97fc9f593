// What keeps gc and a pusher from harming each other.
//
// An object that a pusher uploads is safe because it is young: gc never removes an object younger than its grace
// period. An object that was there already may be old, and unneeded until now. It is not enough that the pusher looks
// for it after the commit: a gc that read the records before the commit may remove it after that look. So each
// announces what it is about to do before it looks at what the other does.
//
//   the pusher  pins the object, then waits for the sweeps under way, then looks whether the object is still there
//   gc          announces a sweep, then reads pins and records, then removes
//
// Whichever comes second sees the first. A tag announces something, too, so tagging waits as well. All this happens
// before the commit, so that a crash leaves a pin and no damage. Pins and sweeps are small objects of the store, see
// wdelta-remote(5). Those that a crash leaves count only for a while. A push that reuses nothing neither pins nor
// waits.
#pragma once

#include <set>

#include "core/stopwatch.h"
#include "history/record.h"
#include "remote/remote.h"
#include "reports.h"

namespace wdelta {

inline constexpr const char* kPinPrefix = "pins/";
inline constexpr const char* kSweepPrefix = "sweeps/";
inline constexpr double kSweepSeconds = 60;    // after that gc removes nothing more under one announcement
inline constexpr double kSweepDead = 300;      // after that pushers no longer wait for a sweep: its gc was killed
inline constexpr double kLeastPinLife = 3600;  // seconds for which a pin holds, or the grace period if that is longer

// Small objects that say what is about to be done, removed when this goes out of scope.
class Announcement {
 public:
  Announcement(Announcement&&) = default;
  ~Announcement();

 protected:
  explicit Announcement(Remote& remote) : remote_(&remote) {}
  Result<> Write(const std::string& key);
  Remote* remote_;
  std::vector<std::string> keys_;
};

// Pins on objects.
class Pins : Announcement {
 public:
  // Returns when no sweep that began before can remove the objects any more. Whether they are still there is for the
  // caller to see. On a remote that cannot be listed it does not wait.
  static Result<Pins> Put(Remote& remote, const std::vector<ObjectRef>& objects, const Context& context);

 private:
  using Announcement::Announcement;
};

// Returns when the sweeps under way are over: all later ones see the pins and tags that were written before. On a
// remote that cannot be listed it does not wait.
Result<> WaitForSweeps(Remote& remote, const Context& context);

// A sweep of gc. There is one at a time.
class Sweep : Announcement {
 public:
  // kBusy while another gc sweeps.
  static Result<Sweep> Announce(Remote& remote);
  // Nothing more may be removed: another sweep has to be announced, and pins and records read again.
  bool over() const { return watch_.seconds() > kSweepSeconds; }

 private:
  using Announcement::Announcement;
  Stopwatch watch_;
};

// The keys of the objects that have a pin younger than `life` seconds. With `tidy`, older pins are removed.
Result<std::set<std::string>> PinnedObjects(Remote& remote, double life, bool tidy);

// gc itself (gc_run.cc): removes the objects of a history that no kept record needs. `remover` is another handle on the
// same store, for removals, which must not be tried for long.
Result<GcReport> GcFrom(Remote& remote, Remote& remover, const GcOptions& options, const StopToken& stop = {});

}  // namespace wdelta
