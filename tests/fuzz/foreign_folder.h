// A folder made of any bytes: a description in JSON, and one safetensors file. The first four bytes say how long the
// JSON and the header of that file are, so that mutations do not get lost in lengths.
#pragma once

#include <algorithm>

#include "support/foreign_patch.h"
#include "support/scratch_folder.h"

namespace wdelta {

// Opens the folder, and turns tensors with whatever was opened.
inline void TryFolder(ByteSpan input, const char* json_name, const char* shard_name,
                      bool (*looks_like)(const std::string&),
                      Result<std::unique_ptr<ForeignDelta>> (*open)(const std::string&, const Environment&)) {
  if (input.size() < 4) return;
  static const ScratchFolder folder;
  const size_t json_bytes = std::min<size_t>(Load<uint16_t>(input.data()), input.size() - 4);
  const ByteSpan rest = input.subspan(4 + json_bytes);
  ByteWriter shard;
  shard.Fixed<uint64_t>(Load<uint16_t>(input.data() + 2));
  shard.Raw(rest);
  folder.Write(std::string("delta/") + json_name, AsText(input.subspan(4, json_bytes)));
  folder.Write(std::string("delta/") + shard_name, AsText(shard.bytes()));
  (void)looks_like(folder / "delta");
  PatchEverything(open(folder / "delta", {}));
}

}  // namespace wdelta
