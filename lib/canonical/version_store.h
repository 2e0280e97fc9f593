// A store of versions where it lies: what version.h describes, read from and written to a remote.
//
//   latest                                     run7/weight_v000012, replaced only by a push that saw what it was before
//   updates/weight_v000012/*.safetensors       a delta (wdelta-formats(5)), or a whole checkpoint with all its files
//   updates/weight_v000012/SHA256SUMS          the checksums of the others, if wdelta wrote it
//   updates/weight_v000012/model.safetensors.index.json   written last
//
// A folder that slime writes by itself has no pointer, and may have the versions at its root; the newest version that
// has an index counts then.
#pragma once

#include "canonical/version.h"
#include "foreign/canonical_index.h"
#include "remote/remote.h"
#include "reports.h"

namespace wdelta {

// The newest version, and what the pointer has to look like when it is replaced.
struct LatestVersion {
  VersionPointer pointer;
  std::string etag;  // of the pointer's object; empty: there is no pointer
};

struct VersionFile {
  std::string name;
  uint64_t bytes = 0;
};

class VersionStore {
 public:
  explicit VersionStore(Remote& remote) : remote_(remote) {}
  Remote& remote() const { return remote_; }

  // One request: what the pointer says; nullopt if there is none.
  Result<std::optional<LatestVersion>> ReadPointer();
  // The same, and where there is no pointer what a listing shows. kNotFound: nothing is there.
  Result<LatestVersion> FindLatest();
  // What a listing shows, for callers who know that there is no pointer; kNotFound as above.
  Result<LatestVersion> FindUnpointed();

  // kNotFound if there is no such version, or not all of it yet.
  Result<CanonicalIndex> ReadIndex(uint64_t version);
  // Size and time of a version's index: another mark means another version.
  Result<std::string> MarkOf(uint64_t version);
  // The files of a version: of a delta its shards, and the list of their checksums if there is one, of a whole
  // checkpoint all that is there; the index always.
  Result<std::vector<VersionFile>> FilesOf(uint64_t version, const CanonicalIndex& index);
  // Fetches those into `folder`, several pieces at a time. A file from an earlier attempt is kept if the object is
  // still the same. Adds what went over the wire to `wire_bytes`.
  Result<> Fetch(uint64_t version, const std::vector<VersionFile>& files, const std::string& folder, unsigned jobs,
                 const Context& context, uint64_t* wire_bytes);

  // ---- For a push ----

  // The objects of a version, whether it is complete or not.
  Result<std::vector<std::string>> KeysOf(uint64_t version);
  // What those look like from outside, as a digest of their names and etags: another digest means that another program
  // has written there.
  Result<Sha256Digest> SealOf(uint64_t version);
  // The list of checksums of a version; nullopt: it has none.
  Result<std::optional<Bytes>> ReadSums(uint64_t version);
  // False: another push has moved the pointer since `before` was read.
  Result<bool> MovePointer(const std::optional<LatestVersion>& before, const VersionPointer& pointer,
                           bool single_writer);
  std::string KeyOf(uint64_t version, const std::string& name) const;

 private:
  Result<std::optional<uint64_t>> NewestBelow(const std::string& prefix);

  Remote& remote_;
  std::string prefix_ = kVersionPrefix;
};

}  // namespace wdelta
