// Any bytes as a SkyRL delta: opened or refused, and turning tensors with it never does harm.
#include "fuzz/foreign_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wdelta::TryFolder({data, size}, "manifest.json", "delta-rank00000-file000000.safetensors", wdelta::LooksLikeSkyrl,
                    wdelta::OpenSkyrl);
  return 0;
}
