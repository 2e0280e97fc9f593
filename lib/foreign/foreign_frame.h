// The zstd frames that canonical and SkyRL deltas keep for each tensor, and what several formats share besides:
// checksums of whole tensors, and the names that torch has for types.
#pragma once

#include "core/blake3_hasher.h"
#include "core/digest.h"
#include "foreign/foreign.h"

namespace wdelta {

// A frame of old XOR new, exactly as long as the tensor.
std::unique_ptr<ForeignStream> XorFrame(std::shared_ptr<const File> file, uint64_t begin, uint64_t end);
// A frame of a count, so many rising positions of bytes, and their new values; both numbers have 32 bits.
Result<std::unique_ptr<ForeignStream>> OverwriteFrame(std::shared_ptr<const File> file, uint64_t begin, uint64_t end,
                                                      uint64_t tensor_bytes, const Environment& environment);

// A checksum of bytes that arrive in pieces.
class ForeignHasher {
 public:
  explicit ForeignHasher(ForeignChecksum kind) : kind_(kind) {}
  void Update(ByteSpan bytes);
  std::string Finish();  // in lower-case hexadecimal

 private:
  ForeignChecksum kind_;
  BlockHasher xxh3_;
  Sha256 sha256_;
  Blake3Hasher blake3_;
  uint32_t adler_low_ = 1, adler_high_ = 0;
};
// Whether a text can be what Finish() returns.
bool IsChecksum(std::string_view text, ForeignChecksum kind);

// "bfloat16", also with "torch." in front.
std::optional<Dtype> DtypeFromTorchName(std::string_view name);
std::string_view TorchName(Dtype dtype);  // empty: torch has no such type

// Whether a file name may be joined to a folder: no separator, no "..", and it ends as safetensors files do.
bool IsPlainShardName(std::string_view name);

}  // namespace wdelta
