// Any bytes as model.safetensors.index.json: whatever is accepted names harmless shards.
#include <cstdlib>

#include "checkpoint/folder.h"
#include "checkpoint/layout.h"
#include "core/json.h"
#include "support/scratch_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const wdelta::ScratchFolder folder;
  folder.Write("index.json", wdelta::AsText({data, size}));
  const auto visit = [](std::string_view tensor, std::string_view shard) -> wdelta::Result<> {
    if (!wdelta::ValidUtf8(wdelta::AsBytes(tensor)) || !wdelta::CheckShardName(shard).ok()) std::abort();
    return {};
  };
  (void)wdelta::VisitWeightMap(folder / "index.json", visit).ok();
  return 0;
}
