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
                 "if no program needs it, remove 'updates/" + VersionFolder(pointer_.version) + "' there"};
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

Result<> VersionUpload::Publish(const std::vector<VersionPart>& parts, const std::function<Result<>()>& before_last) {
  const Stopwatch watch;
  const unsigned jobs = std::min(JobsOrDefault(jobs_), 4U);
  Result<> sent = RunOrderedSlots(
      parts.size() - 1, {jobs, jobs}, [&](uint64_t i, unsigned, unsigned) { return Send(parts[i]); },
      [](uint64_t, unsigned) { return Result<>(); });
  if (sent.ok()) sent = before_last();
  if (sent.ok()) sent = Send(parts.back());
  report_.upload_seconds = watch.seconds();
  if (sent.ok()) return Commit();
  if (sent.error().kind != ErrorKind::kConflict) return sent;  // the next push goes on from here
  for (const std::string& key : written_) (void)store_.remote().Remove(key);
  WD_TRY(home_.StopPublishing());
  return sent;
}

Result<> VersionUpload::Send(const VersionPart& part) {
  const std::string key = store_.KeyOf(pointer_.version, part.name);
  const auto write = [&](const ByteSource& source) -> Result<> {
    const WriteRule rule = single_writer_ ? WriteRule::kReplace : WriteRule::kIfAbsent;
    WD_ASSIGN(const WriteResult written, store_.remote().Write(key, source, rule));
    if (written == WriteResult::kWritten) {
      const std::lock_guard lock(mutex_);
      written_.push_back(key);
      report_.wire_bytes += source.size();
      return {};
    }
    return Error{ErrorKind::kConflict,
                 "another push has begun to write version " + VersionName(pointer_.version) + " of '" +
                     store_.remote().url() + "'",
                 "push again when it is done, with its checkpoint as '--base'"};
  };
  if (part.path.empty()) return write(MemorySource(AsBytes(part.text)));
  WD_ASSIGN(const File file, File::OpenForRead(part.path));
  WD_ASSIGN(const FileIdentity identity, file.Identify());
  return write(FileSlice(file, 0, identity.size, part.sha256));
}

Result<> VersionUpload::Commit() {
  const Stopwatch watch;
  WD_ASSIGN(const Sha256Digest seal, store_.SealOf(pointer_.version));
  WD_TRY(home_.SetPublishingSeal(seal));
  WD_ASSIGN(const bool moved, store_.MovePointer(before_, pointer_, single_writer_));
  if (!moved) {
    WD_TRY(home_.StopPublishing());
    return Error{ErrorKind::kConflict, "another pusher has moved '" + store_.remote().url() + "/" + kLatestKey + "'",
                 "read it, and push again with the checkpoint of that version as '--base'"};
  }
  report_.commit_seconds = watch.seconds();
  return home_.FinishPublishing(PointerText(pointer_));
}

}  // namespace wdelta
