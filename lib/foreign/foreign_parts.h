// What readers of foreign formats share: parts of files, positions with values, zstd frames, values of JSON texts,
// checksums of whole tensors, and the names that torch has for types.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/blake3_hasher.h"
#include "core/json.h"
#include "foreign/foreign.h"

namespace wdelta {

// ---- Bytes that are read front to back ------------------------------------------------------------------------------

class ByteFeed {
 public:
  virtual ~ByteFeed() = default;
  virtual Result<> Read(MutableByteSpan out) = 0;  // the next bytes; kIntegrity if there are fewer
  virtual uint64_t left() const = 0;               // bytes
  // After the last byte that is wanted: kIntegrity if what they come from goes on.
  virtual Result<> End() { return {}; }
};

// Part of a file.
struct FileRange {
  std::shared_ptr<const File> file;
  uint64_t begin = 0, end = 0;
};
std::unique_ptr<ByteFeed> FilePart(FileRange range);  // buffered

// One zstd frame.
class FrameReader {
 public:
  explicit FrameReader(FileRange range);
  Result<> Read(MutableByteSpan out) { return source_.Read(out); }
  Result<> ExpectEnd() { return source_.ExpectEnd(); }
  // The next bytes. Memory grows with what is there, not with what is asked for.
  Result<Bytes> Take(uint64_t length);
  // Writes the next `length` bytes to `file` at `offset`.
  Result<> Unpack(uint64_t length, const File& file, uint64_t offset);

 private:
  ZstdSource source_;
};
bool StartsLikeFrame(const File& file);

// ---- Positions and new values of changed elements: what TRL, grail and prime-rl send --------------------------------

// The position of the next element; absent at the end. They must rise and lie in the tensor (kIntegrity).
using PositionSource = std::function<Result<std::optional<uint64_t>>()>;
// A stream that puts `values`, of `unit` bytes each, at the positions. `units`: elements of the tensor.
std::unique_ptr<ForeignStream> OverwriteStream(PositionSource positions, std::unique_ptr<ByteFeed> values,
                                               unsigned unit, uint64_t units);

// Whole numbers of one of the integer types, one after the other.
class NumberSource {
 public:
  NumberSource(FileRange range, Dtype dtype) : bytes_(FilePart(std::move(range))), dtype_(dtype) {}
  bool AtEnd() const { return bytes_->left() == 0; }
  Result<uint64_t> Next();  // kIntegrity for a negative one

 private:
  std::shared_ptr<ByteFeed> bytes_;
  Dtype dtype_;
};
// Positions as the numbers themselves, one after the other.
PositionSource ListedPositions(NumberSource numbers);

// ---- The frames that canonical and SkyRL deltas keep for each tensor ------------------------------------------------

// A frame of old XOR new, exactly as long as the tensor.
std::unique_ptr<ForeignStream> XorFrame(const FileRange& frame);
// A frame of a count, so many rising positions of bytes, and their new values; both numbers have 32 bits.
Result<std::unique_ptr<ForeignStream>> OverwriteFrame(const FileRange& frame, uint64_t tensor_bytes,
                                                      const Environment& environment);

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

// ---- Names, and values of JSON texts that an enemy may have written -------------------------------------------------

// "bfloat16", also with "torch." in front.
std::optional<Dtype> DtypeFromTorchName(std::string_view name);
std::string_view TorchName(Dtype dtype);  // empty: torch has no such type

// Whether a file name may be joined to a folder: no separator, no "..", and it ends as safetensors files do.
bool IsPlainShardName(std::string_view name);

Result<> ReadShape(JsonReader& json, std::vector<uint64_t>& shape);
// A whole number in its own digits, perhaps negative; empty for null. `text` is what `json` reads.
Result<> ReadNumberText(JsonReader& json, std::string_view text, std::string& number);

}  // namespace wdelta
