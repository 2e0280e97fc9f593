#include "canonical/version_upload.h"

#include <algorithm>

#include "core/parallel.h"
#include "core/stopwatch.h"

namespace wdelta {

Result<> VersionUpload::Begin(const Sha256Digest& state, const std::string& sums) {
  WD_TRY(ClearAway(home_.publishing() == pointer_.version));
  return home_.SetPublishing(pointer_.version, state, DigestSha256(AsBytes(sums)));
}

// What is there of the version already was never pointed to. If it is complete, another program may need it all the
// same.
Result<> VersionUpload::ClearAway(bool is_ours) {
  WD_ASSIGN(const std::vector<std::string> keys, store_.KeysOf(pointer_.version));
  if (keys.empty()) return {};
  const std::string index = store_.KeyOf(pointer_.version, kIndexFile);
  if (!is_ours && std::find(keys.begin(), keys.end(), index) != keys.end()) {
    return Error{ErrorKind::kConflict,
                 "version " + VersionName(pointer_.version) + " is in '" + store_.remote().url() + "' already, and '" +
                     kLatestKey + "' does not point to it",
                 "if nobody needs it, remove 'updates/" + VersionFolder(pointer_.version) + "' there"};
  }
  if (!is_ours && !single_writer_) {
    return Error{ErrorKind::kConflict,
                 "files of version " + VersionName(pointer_.version) + " are in '" + store_.remote().url() +
                     "' already: another push is under way, or was cut off",
                 "if no other push is running, '--single-writer' clears them away"};
  }
  for (const std::string& key : keys) WD_TRY(store_.remote().Remove(key));
  return {};
}

Result<> VersionUpload::Publish(size_t count, const std::function<Result<uint64_t>(size_t)>& send) {
  Result<> sent = Upload(count, send);
  if (sent.ok()) return Commit();
  if (sent.error().kind != ErrorKind::kConflict) return sent;  // the next push goes on from here
  for (const std::string& key : written_) (void)store_.remote().Remove(key);
  WD_TRY(home_.StopPublishing());
  return sent;
}

// All files but the last side by side, then that.
Result<> VersionUpload::Upload(size_t count, const std::function<Result<uint64_t>(size_t)>& send) {
  const Stopwatch watch;
  const auto add = [&](uint64_t, uint64_t bytes) -> Result<> {
    wire_bytes_ += bytes;
    return {};
  };
  const unsigned jobs = std::min(JobsOrDefault(jobs_), 4U);
  WD_TRY(RunOrdered<uint64_t>(
      count - 1, {jobs, jobs}, [&](uint64_t i, unsigned) { return send(i); }, add));
  WD_ASSIGN(const uint64_t last, send(count - 1));
  WD_TRY(add(0, last));
  upload_seconds_ = watch.seconds();
  return {};
}

Result<uint64_t> VersionUpload::SendFile(const std::string& name, const std::string& path, const Sha256Digest& sha256) {
  WD_ASSIGN(const File file, File::OpenForRead(path));
  WD_ASSIGN(const FileIdentity identity, file.Identify());
  return Send(name, FileSlice(file, 0, identity.size, sha256));
}

Result<uint64_t> VersionUpload::Send(const std::string& name, const ByteSource& source) {
  const std::string key = store_.KeyOf(pointer_.version, name);
  const WriteRule rule = single_writer_ ? WriteRule::kReplace : WriteRule::kIfAbsent;
  WD_ASSIGN(const WriteResult written, store_.remote().Write(key, source, rule));
  if (written == WriteResult::kWritten) {
    const std::lock_guard lock(mutex_);
    written_.push_back(key);
    return source.size();
  }
  return Error{ErrorKind::kConflict,
               "another push has begun to write version " + VersionName(pointer_.version) + " of '" +
                   store_.remote().url() + "'",
               "push again when it is done, with its checkpoint as '--base'"};
}

Result<> VersionUpload::Commit() {
  const Stopwatch watch;
  WD_ASSIGN(const Sha256Digest seal, store_.SealOf(pointer_.version));
  WD_TRY(home_.SetPublishingSeal(seal));
  WD_ASSIGN(const bool moved, store_.MovePointer(before_, pointer_, single_writer_));
  if (!moved) {
    WD_TRY(home_.StopPublishing());
    return Error{ErrorKind::kConflict,
                 "'" + store_.remote().url() + "/" + kLatestKey + "' was moved by somebody else meanwhile",
                 "see what it says, and push again with the checkpoint of that version as '--base'"};
  }
  commit_seconds_ = watch.seconds();
  return home_.FinishPublishing(PointerText(pointer_));
}

}  // namespace wdelta
