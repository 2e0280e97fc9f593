// A whole version of a run: a checkpoint as others publish it, in both directions. Its index says which version it is,
// which the checkpoint's own does not. And with every version of ours comes SHA256SUMS, which sha256sum -c understands:
// nothing else would prove a whole one, or tell a damaged delta from a wrong base.
#pragma once

#include "walk/rebuild.h"

namespace wdelta {

inline constexpr const char* kSumsFile = "SHA256SUMS";

// The two files that are not as they are in the checkpoint.
struct WholeVersion {
  std::string index, sums;
};
// Reads all of `checkpoint`.
Result<WholeVersion> WrapWholeVersion(const Checkpoint& checkpoint, uint64_t version, const StopToken& stop);

// A line of a list of checksums. What is no such line is passed over.
struct FileSum {
  Sha256Digest sha256{};
  std::string name;
};
inline constexpr uint64_t kMaxSumsBytes = 16 << 20;
std::vector<FileSum> ParseSums(std::string_view text);
// The list of checksums for the files of a delta.
Result<std::string> ListSums(const std::string& folder, const std::vector<std::string>& files, const StopToken& stop);

// Compares the files of a fetched version with the list that came with it, if there is one. kIntegrity.
Result<> CheckSums(const std::string& folder, const StopToken& stop);

// Turns a fetched whole version into the checkpoint that it was: with the index that a checkpoint has, and without
// files that are no part of one. One read proves it and compares its files with the list that came with it
// (kIntegrity). A version without a list is named in a note. Done twice it changes nothing.
Result<Proof> UnwrapWholeVersion(const std::string& folder, const Context& context);

// Where file `number` of a checkpoint's layout lies.
std::string PathOfFile(const Checkpoint& checkpoint, size_t number);

}  // namespace wdelta
