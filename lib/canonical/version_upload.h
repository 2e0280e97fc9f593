// Publishing one version: its files are uploaded, the index last, and then the pointer is moved, on condition that it
// still stands where the push saw it. The files of a version that was never pointed to belong to the pusher that
// remembers having begun it.
#pragma once

#include <mutex>

#include "canonical/version_store.h"
#include "sync/push_base.h"

namespace wdelta {

// A file of a version: one on this machine, or a text.
struct VersionPart {
  std::string name;
  std::string path{};
  Sha256Digest sha256{};
  std::string text{};  // where there is no path
};

class VersionUpload {
 public:
  // `before`: what the pointer says now, `pointer`: what it is to say. Fills the times and the bytes of `report`. All
  // must outlive this.
  VersionUpload(VersionStore& store, PusherState& home, const std::optional<LatestVersion>& before,
                const VersionPointer& pointer, bool single_writer, unsigned jobs, PushReport& report)
      : store_(store),
        home_(home),
        before_(before),
        pointer_(pointer),
        single_writer_(single_writer),
        jobs_(jobs),
        report_(report) {}

  // Remembers that the version is being published, and clears away what an earlier attempt has left of it. `sums`: its
  // list of checksums, which no other version has. kConflict: another push is at it.
  Result<> Begin(const Sha256Digest& state, const std::string& sums);

  // Sends the parts, several at once but for the last, which waits for `before_last`; then moves the pointer.
  // kConflict: another push was faster; what this one has sent is removed again.
  Result<> Publish(const std::vector<VersionPart>& parts, const std::function<Result<>()>& before_last);

 private:
  Result<> ClearAway(bool is_ours);
  Result<> Send(const VersionPart& part);
  Result<> Commit();

  VersionStore& store_;
  PusherState& home_;
  const std::optional<LatestVersion>& before_;
  const VersionPointer& pointer_;
  const bool single_writer_;
  const unsigned jobs_;
  PushReport& report_;
  std::mutex mutex_;                  // for what was sent
  std::vector<std::string> written_;  // keys
};

}  // namespace wdelta
