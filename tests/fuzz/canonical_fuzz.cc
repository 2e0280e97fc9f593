// Any bytes as a canonical delta: opened or refused, and turning tensors with it never does harm.
#include "fuzz/foreign_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wdelta::TryFolder({data, size}, "model.safetensors.index.json", "model-00000-of-00001.safetensors",
                    wdelta::LooksLikeCanonical, wdelta::OpenCanonical);
  return 0;
}
