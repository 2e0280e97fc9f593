// Any bytes as a prime-rl update: opened or refused, and turning tensors with it never does harm.
#include "fuzz/delta_target.h"
#include "support/foreign_patch.h"

namespace {

const std::string_view kManifest =
    R"({"format":"prime-rl-sparse-update","version":1,"step":8,"base_step":7,"compressed":false,"patch_file":"patch",)"
    R"("tensors":[{"name":"w","shape":[2,4],"dtype":"bfloat16","indices":"tensor_0.indices","values":"tensor_0.values",)"
    R"("numel":8,"changed_numel":2,"checksum":5}]})";

}  // namespace

// The input is one byte, which tells whether the patch file is one frame; the length of the manifest in two bytes, the
// manifest; the length of the JSON header of the patch file in two bytes, and that file from there on.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  static const std::vector<wdelta::Bytes> samples = [] {
    std::vector<wdelta::Bytes> made;
    for (const bool packed : {false, true}) {
      const std::string patch =
          wdelta::SafetensorsText({"patch",
                                   {{"tensor_0.indices", wdelta::Dtype::kI32, {2}, {1, 0, 0, 0, 6, 0, 0, 0}},
                                    {"tensor_0.values", wdelta::Dtype::kBF16, {2}, {0x81, 0x3f, 0x80, 0xbf}}},
                                   {},
                                   0});
      wdelta::ByteWriter out;
      out.Fixed<uint8_t>(packed ? 1 : 0);
      out.Fixed(static_cast<uint16_t>(kManifest.size()));
      out.Raw(wdelta::AsBytes(kManifest));
      out.Raw(wdelta::AsBytes(patch).first(2));
      out.Raw(wdelta::AsBytes(patch).subspan(8));
      made.push_back(out.bytes());
    }
    return made;
  }();
  return wdelta::MutateSample(samples, data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 5) return 0;
  static const wdelta::ScratchFolder folder;
  const size_t manifest_bytes = std::min<size_t>(wdelta::Load<uint16_t>(data + 1), size - 5);
  folder.Write("input/sparse_update_manifest.json", wdelta::AsText({data + 3, manifest_bytes}));
  const wdelta::ByteSpan rest(data + 3 + manifest_bytes, size - 3 - manifest_bytes);
  wdelta::ByteWriter patch;
  patch.Fixed<uint64_t>(wdelta::Load<uint16_t>(rest.data()));
  patch.Raw(rest.subspan(2));
  wdelta::Bytes file = patch.bytes();
  if (data[0] % 2 == 1) {
    file.clear();
    wdelta::ZstdCompress(patch.bytes(), 1, file);
  }
  folder.Write("input/patch", wdelta::AsText(file));
  wdelta::PatchEverything(wdelta::OpenPrime(folder / "input", {}));
  return 0;
}
