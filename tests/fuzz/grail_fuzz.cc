// Any bytes as a grail delta: opened or refused, and turning tensors with it never does harm.
#include "fuzz/delta_target.h"
#include "support/foreign_patch.h"

namespace {

const std::string_view kHeader =
    R"({"version":31,"tensors":[{"name":"w","shape":[2,4],"num_nonzero":2,"value_dtype":"bfloat16","row_dtype":"uint8",)"
    R"("col_dtype":"uint16","indices_offset":0,"indices_size":6,"rows_size":2,"cols_size":4,"values_offset":6,)"
    R"("values_size":4}]})";

}  // namespace

// The input is one byte, which tells whether what follows is the file as it is or the content of its frame; such a
// content has a length field of two bytes here.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  static const std::vector<wdelta::Bytes> samples = [] {
    wdelta::ByteWriter out;
    out.Fixed<uint8_t>(0);
    out.Fixed(static_cast<uint16_t>(kHeader.size()));
    out.Raw(wdelta::AsBytes(kHeader));
    out.Raw(wdelta::Bytes{0, 1, 1, 0, 2, 0, 0x81, 0x3f, 0x80, 0xbf});
    return std::vector<wdelta::Bytes>{out.bytes()};
  }();
  return wdelta::MutateSample(samples, data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  static const wdelta::ScratchFolder folder;
  wdelta::Bytes file(data + 1, data + size);
  if (data[0] % 8 != 7) {
    wdelta::ByteWriter content;
    content.Fixed<uint32_t>(wdelta::Load<uint16_t>(data + 1));
    content.Raw({data + 3, size - 3});
    file.clear();
    wdelta::ZstdCompress(content.bytes(), 1, file);
  }
  folder.Write("input", wdelta::AsText(file));
  (void)wdelta::LooksLikeGrail(folder / "input");
  wdelta::PatchEverything(wdelta::OpenGrail(folder / "input", {}));
  return 0;
}
