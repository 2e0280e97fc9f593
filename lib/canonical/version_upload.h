// Publishing one version: its files go up, the index last, and then the pointer is moved by whoever saw where it stood.
// The files of a version that was never pointed to belong to whoever is about to publish it: to the pusher who
// remembers having begun, and to nobody else.
#pragma once

#include <mutex>

#include "canonical/version_store.h"
#include "local/pusher_state.h"

namespace wdelta {

class VersionUpload {
 public:
  // `before`: what the pointer says now, `pointer`: what it is to say. All must outlive this.
  VersionUpload(VersionStore& store, PusherState& home, const std::optional<LatestVersion>& before,
                const VersionPointer& pointer, const PushRequest& request)
      : store_(store), home_(home), before_(before), pointer_(pointer), request_(request) {}

  // Remembers that the version is being published, and clears away what an earlier attempt has left of it. `sums`: its
  // list of checksums, which no other version has. kConflict: somebody else is at it.
  Result<> Begin(const Sha256Digest& state, const std::string& sums);

  // Sends `count` files by calling `send`, which calls Send or SendFile, from several threads at once but for the last;
  // then moves the pointer. Who was too late takes back what it has sent (kConflict).
  Result<> Publish(size_t count, const std::function<Result<uint64_t>(size_t)>& send);
  Result<uint64_t> Send(const std::string& name, const ByteSource& source);  // the bytes sent
  Result<uint64_t> SendFile(const std::string& name, const std::string& path);

  uint64_t wire_bytes() const { return wire_bytes_; }
  double upload_seconds() const { return upload_seconds_; }
  double commit_seconds() const { return commit_seconds_; }

 private:
  Result<> ClearAway(bool is_ours);
  Result<> Upload(size_t count, const std::function<Result<uint64_t>(size_t)>& send);
  Result<> Commit();

  VersionStore& store_;
  PusherState& home_;
  const std::optional<LatestVersion>& before_;
  const VersionPointer& pointer_;
  const PushRequest& request_;
  std::mutex mutex_;
  std::vector<std::string> written_;  // keys
  uint64_t wire_bytes_ = 0;
  double upload_seconds_ = 0, commit_seconds_ = 0;
};

}  // namespace wdelta
