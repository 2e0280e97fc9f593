// Which files of a folder make up a checkpoint, found by name alone: nothing but the index is read here.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/words.h"

namespace wdelta {

struct FolderFiles {
  std::string index;                    // name of the index file, empty if there is none
  std::vector<std::string> shards;      // by name
  std::vector<std::string> companions;  // by path, the index file among them
};

// Lists the checkpoint in `folder`. With an index, the shards are what its weight_map names; without, all safetensors
// files of the folder but optimizer state. Companions are found in subfolders too. Files that do not belong are named
// to `note`. Fails with kRefused for names and links that lead out of the folder and for unconsolidated shards of a
// distributed checkpoint, with kNotFound if there are no shards or the index names one that is missing.
Result<FolderFiles> ListCheckpointFolder(const std::string& folder, const FileChoice& choice, const NoteSink& note);

// Calls visit(tensor, shard) for each entry of an index file's weight_map. Strict: duplicates, values that are no
// strings and shard names that lead elsewhere are errors.
Result<> VisitWeightMap(const std::string& index_path,
                        const std::function<Result<>(std::string_view tensor, std::string_view shard)>& visit);

}  // namespace wdelta
