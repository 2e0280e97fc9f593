// Turning whole tensors with a foreign delta.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "foreign/foreign.h"

namespace wdelta {

// The new bytes of a tensor that the delta touches, turned in blocks of `block` bytes.
inline Result<Bytes> PatchTensor(const ForeignDelta& delta, size_t index, Dtype dtype,
                                 const std::vector<uint64_t>& shape, Bytes bytes, size_t block) {
  WD_ASSIGN(const std::unique_ptr<ForeignStream> stream, delta.Open(index, dtype, shape));
  for (size_t at = 0; at < bytes.size(); at += block)
    WD_TRY(stream->Apply(MutableByteSpan(bytes).subspan(at, std::min(block, bytes.size() - at))));
  WD_TRY(stream->End());
  return bytes;
}

// For fuzzing: a delta that was refused was refused as one; of one that was opened, every tensor that it names is
// turned, in the form that it says if that is small, and in made-up ones.
inline void PatchEverything(const Result<std::unique_ptr<ForeignDelta>>& opened) {
  if (!opened.ok()) {
    const ErrorKind kind = opened.error().kind;
    if (kind != ErrorKind::kIntegrity && kind != ErrorKind::kRefused && kind != ErrorKind::kNotFound) std::abort();
    return;
  }
  const ForeignDelta& delta = **opened;
  for (size_t i = 0; i < delta.tensors().size(); ++i) {
    const ForeignTensor& tensor = delta.tensors()[i];
    if (i > 0 && tensor.name <= delta.tensors()[i - 1].name) std::abort();
    const Dtype dtype = tensor.dtype.value_or(Dtype::kBF16);
    for (const std::vector<uint64_t>& shape : {tensor.shape.value_or(std::vector<uint64_t>{300}), {2, 4}, {}}) {
      const std::optional<uint64_t> bytes = TensorBytes(dtype, shape);
      if (!bytes || *bytes > 1 << 20) continue;
      const auto turned = PatchTensor(delta, i, dtype, shape, Bytes(*bytes), 3 * UnitBytes(dtype));
      if (!turned.ok() && turned.error().tensor != tensor.name) std::abort();
    }
    (void)delta.Open(i, Dtype::kF64, std::vector<uint64_t>{3}).ok();
  }
}

}  // namespace wdelta
