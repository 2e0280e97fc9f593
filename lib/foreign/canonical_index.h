// The index of a canonical folder: of a delta, of a whole version, of any checkpoint in several files. What tells them
// apart is in its metadata.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace wdelta {

inline constexpr const char* kIndexFile = "model.safetensors.index.json";
inline constexpr uint64_t kMaxIndexFileBytes = 100'000'000;  // as of the header of a safetensors file

struct CanonicalIndex {
  std::map<std::string, std::string> metadata;    // its texts and numbers
  std::map<std::string, std::string> weight_map;  // tensor: shard

  std::string Value(const std::string& key) const;  // of the metadata; empty if it is not there
  bool is_delta() const { return metadata.contains("delta_encoding"); }
  std::vector<std::string> Shards() const;  // by name, each once
};

// kIntegrity for what is none.
Result<CanonicalIndex> ReadCanonicalIndex(std::string_view text);

// The index of a whole version says which one it is: the text of a checkpoint's index with that put in, and the other
// way round, where every other byte stays. An index that says it already, otherwise or in another place, says `version`
// afterwards.
Result<std::string> WithVersion(std::string_view text, std::string_view version);
Result<std::string> WithoutVersion(std::string_view text);

}  // namespace wdelta
