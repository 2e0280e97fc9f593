// Any bytes as a plain delta.
#include "fuzz/delta_target.h"

namespace {

const wdelta::DeltaTarget& Target() {
  static const wdelta::DeltaTarget target;
  return target;
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  static const std::vector<wdelta::Bytes> samples = {
      Target().Accepted(wdelta::LoosenPlainDelta(Target().Sample("ab.safetensors")))};
  return wdelta::MutateSample(samples, data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Target().TakeEverything({data, size});
  return 0;
}
