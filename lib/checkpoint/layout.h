// What a checkpoint is besides its tensors: which files there are, the header bytes of each shard, and the companions
// (config, tokenizer, templates). Layouts are plain values; they travel in packs, so that a rebuilt checkpoint has the
// same files to the last byte.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/digest.h"

namespace wdelta {

struct LayoutFile {
  std::string path;         // relative; a shard's is a bare file name
  uint64_t bytes = 0;       // of a shard: its header (length field and JSON); of a companion: all of it
  Sha256Digest sha256{};    // of those bytes
  uint64_t data_bytes = 0;  // of a shard: what follows its header, which implies it
  bool operator==(const LayoutFile&) const = default;
};

struct Layout {
  // A lone file rather than a folder. Its shard then goes by the name kLoneShard, whatever the file is called, so that
  // renaming a file makes no other checkpoint of it.
  bool lone_file = false;
  std::vector<LayoutFile> shards;             // by name
  std::vector<LayoutFile> companions;         // by path
  std::vector<std::string> include, exclude;  // the patterns that chose the companions, if not the default

  // All files in one count, shards first.
  size_t file_count() const { return shards.size() + companions.size(); }
  const LayoutFile& file(size_t number) const {
    return number < shards.size() ? shards[number] : companions[number - shards.size()];
  }

  // Identity of all this except for `lone_file` and the patterns.
  Sha256Digest Digest() const;
};

inline constexpr std::string_view kLoneShard = "model.safetensors";

// Of each kind. Nobody needs more, and a string costs more memory than the one byte that an empty one takes in a pack.
inline constexpr size_t kMaxPatterns = 1000;

// Names come from index files and packs, so possibly from an enemy. A shard's name is one component that ends in
// ".safetensors"; a companion's path has one or more. No component is empty, hidden, longer than 255 bytes or holds
// a backslash or a control character, so neither can lead out of its folder. Fails with kRefused.
Result<> CheckShardName(std::string_view name);
Result<> CheckCompanionPath(std::string_view path);

// Every name is as it should be, and none occurs twice or is both a file and a folder of another.
Result<> CheckLayout(const Layout& layout);

}  // namespace wdelta
