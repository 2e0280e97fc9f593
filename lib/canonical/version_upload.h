// Publishing one version: its files are uploaded, the index last, and then the pointer is moved, on condition that it
// still stands where the push saw it. The files of a version that was never pointed to belong to the pusher that
// remembers having begun it.
#pragma once

#include <mutex>

#include "canonical/version_store.h"
#include "sync/push_base.h"

namespace wdelta {

class VersionUpload {
 public:
  // `before`: what the pointer says now, `pointer`: what it is to say. All must outlive this.
  VersionUpload(VersionStore& store, PusherState& home, const std::optional<LatestVersion>& before,
                const VersionPointer& pointer, bool single_writer, unsigned jobs)
      : store_(store), home_(home), before_(before), pointer_(pointer), single_writer_(single_writer), jobs_(jobs) {}

  // Remembers that the version is being published, and clears away what an earlier attempt has left of it. `sums`: its
  // list of checksums, which no other version has. kConflict: another push is at it.
  Result<> Begin(const Sha256Digest& state, const std::string& sums);

  // Sends `count` files by calling `send`, which calls Send or SendFile, from several threads at once but for the last;
  // then moves the pointer. kConflict: another push was faster; what this one has sent is removed again.
  Result<> Publish(size_t count, const std::function<Result<uint64_t>(size_t)>& send);
  Result<uint64_t> Send(const std::string& name, const ByteSource& source);  // the bytes sent
  Result<uint64_t> SendFile(const std::string& name, const std::string& path, const Sha256Digest& sha256);

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
  const bool single_writer_;
  const unsigned jobs_;
  std::mutex mutex_;
  std::vector<std::string> written_;  // keys
  uint64_t wire_bytes_ = 0;
  double upload_seconds_ = 0, commit_seconds_ = 0;
};

}  // namespace wdelta
