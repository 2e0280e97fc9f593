// Any bytes as a TRL patch: opened or refused, and turning tensors with it never does harm.
#include "fuzz/delta_target.h"
#include "support/foreign_patch.h"

// The input is the length of the JSON header in two bytes, then the file from there on.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  static const std::vector<wdelta::Bytes> samples = [] {
    const wdelta::MadeTensor list{"w.indices", wdelta::Dtype::kI32, {2}, {1, 0, 0, 0, 6, 0, 0, 0}};
    const wdelta::MadeTensor gaps{"w.idx", wdelta::Dtype::kU16, {2}, {1, 0, 4, 0}};
    const wdelta::MadeTensor values{"w.values", wdelta::Dtype::kBF16, {2}, {0x81, 0x3f, 0x80, 0xbf}};
    const wdelta::MadeTensor short_values{"w.val", wdelta::Dtype::kBF16, {2}, {0x81, 0x3f, 0x80, 0xbf}};
    std::vector<wdelta::Bytes> made;
    for (const std::vector<wdelta::MadeTensor>& tensors :
         {std::vector{list, values}, std::vector{gaps, short_values}, std::vector{values}}) {
      const std::string sparse = tensors.size() == 2 ? "True" : "False";
      const std::string text = wdelta::SafetensorsText(
          {"x", tensors, {{"format", "sparse_weight_patch"}, {"sparse", sparse}, {"model_version", "7"}}, 0});
      wdelta::Bytes input(text.begin() + 6, text.end());
      std::copy_n(text.begin(), 2, input.begin());
      made.push_back(input);
    }
    return made;
  }();
  return wdelta::MutateSample(samples, data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  static const wdelta::ScratchFolder folder;
  wdelta::ByteWriter out;
  out.Fixed<uint64_t>(wdelta::Load<uint16_t>(data));
  out.Raw({data + 2, size - 2});
  folder.Write("input", wdelta::AsText(out.bytes()));
  (void)wdelta::LooksLikeTrl(folder / "input");
  wdelta::PatchEverything(wdelta::OpenTrl(folder / "input", {}));
  return 0;
}
