// Any bytes as a pack. Checksums are made right first, because no fuzzer guesses them.
#include "fuzz/delta_target.h"

namespace {

const wdelta::DeltaTarget& Target() {
  static const wdelta::DeltaTarget target;
  return target;
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  static const std::vector<wdelta::Bytes> samples = {
      Target().Accepted(wdelta::LoosenPack(Target().Sample("ab.wdp"))),
      Target().Accepted(wdelta::LoosenPack(Target().Sample("anchor.wdp"))), Target().Sample("ab.wdp")};
  return wdelta::MutateSample(samples, data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wdelta::Bytes input(data, data + size);
  wdelta::SealPack(input);
  Target().TakeEverything(input);
  return 0;
}
