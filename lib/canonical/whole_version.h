// A whole version of a run: a checkpoint as others publish it, in both directions. Its index says which version it is;
// the index of the checkpoint does not. Every version that wdelta publishes has SHA256SUMS beside it, which
// `sha256sum -c` understands: without it a whole version could not be checked, nor a damaged delta be told from a wrong
// base.
#pragma once

#include "checkpoint/checkpoint.h"
#include "reports.h"
#include "walk/rebuild.h"

namespace wdelta {

inline constexpr const char* kSumsFile = "SHA256SUMS";

// Who a checkpoint is, and the SHA-256 of each file of its layout.
struct CheckpointDigests {
  StateDigests identity;
  std::vector<Sha256Digest> files;
};
// Reads all of `checkpoint` once, its shards side by side.
Result<CheckpointDigests> DigestFiles(const Checkpoint& checkpoint, const Context& context);

// The two files that are not as they are in the checkpoint.
struct WholeVersion {
  std::string index, sums;
};
// `files`: the SHA-256 of each file of the layout.
Result<WholeVersion> WrapWholeVersion(const Checkpoint& checkpoint, const std::vector<Sha256Digest>& files,
                                      uint64_t version);

// A line of a list of checksums.
struct FileSum {
  Sha256Digest sha256{};
  std::string name;
};
inline constexpr uint64_t kMaxSumsBytes = 16 << 20;
std::vector<FileSum> ParseSums(std::string_view text);  // ignores lines that are not of this form
std::string SumsText(const std::vector<FileSum>& sums);
// The checksums of these files of a folder, computed side by side.
Result<std::vector<FileSum>> ListSums(const std::string& folder, const std::vector<std::string>& files,
                                      const Context& context);

// Compares the files of a fetched version with the list that came with it, if there is one. kIntegrity.
Result<> CheckSums(const std::string& folder, const StopToken& stop);

// Turns a fetched whole version into the checkpoint that it was: with the index that a checkpoint has, and without
// files that are no part of one. One read proves it and compares its files with the list that came with it
// (kIntegrity). A version without a list is named in a note. Done twice it changes nothing.
Result<Proof> UnwrapWholeVersion(const std::string& folder, const Context& context);

}  // namespace wdelta
