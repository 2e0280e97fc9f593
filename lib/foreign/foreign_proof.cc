#include "foreign/foreign_proof.h"

#include "foreign/foreign_frame.h"

namespace wdelta {

Result<std::string> TensorUnlike(const Checkpoint& checkpoint, const ForeignDelta& delta, const StopToken& stop) {
  Bytes block;
  for (const ForeignTensor& wanted : delta.tensors()) {
    if (wanted.checksum_kind == ForeignChecksum::kNone) continue;
    const Tensor* tensor = checkpoint.Find(wanted.name);
    if (!tensor) return wanted.name;
    ForeignHasher hasher(wanted.checksum_kind);
    for (uint64_t number = 0; number < BlockCount(tensor->bytes); ++number) {
      WD_TRY(stop.Check());
      block.resize(BlockLength(tensor->bytes, number));
      WD_TRY(checkpoint.Read(*tensor, number * kBlockBytes, block));
      hasher.Update(block);
    }
    if (hasher.Finish() != wanted.checksum) return wanted.name;
  }
  return std::string();
}

}  // namespace wdelta
