// What readers of foreign formats share: failures that name the tensor, lists of positions, files that are one zstd
// frame, and values of JSON texts.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "foreign/foreign.h"

namespace wdelta {

// ForeignError that names a tensor.
Error ForeignTensorError(std::string_view kind, const std::string& path, std::string_view tensor,
                         const std::string& why);

// kConflict unless the base has the tensor in the form that the delta says, as far as it says one.
Result<> ExpectForm(const ForeignDelta& delta, const ForeignTensor& tensor, Dtype dtype,
                    std::span<const uint64_t> shape);

// `stream`, whose failures name the delta and the tensor.
std::unique_ptr<ForeignStream> NamedStream(std::unique_ptr<ForeignStream> stream, const ForeignDelta& delta,
                                           const ForeignTensor& tensor);

// Whole numbers of one of the integer types, one after the other.
class NumberSource {
 public:
  NumberSource(std::unique_ptr<ByteFeed> bytes, Dtype dtype) : bytes_(std::move(bytes)), dtype_(dtype) {}
  bool AtEnd() const { return bytes_->left() == 0; }
  Result<uint64_t> Next();  // kIntegrity for a negative one

 private:
  std::unique_ptr<ByteFeed> bytes_;
  Dtype dtype_;
};

// Positions as the numbers themselves, one after the other.
std::unique_ptr<PositionSource> ListedPositions(NumberSource numbers);

// A file that is one zstd frame, read front to back.
class FrameFile {
 public:
  explicit FrameFile(std::shared_ptr<const File> file);
  // The next bytes. Memory grows with what is there, not with what is asked for.
  Result<Bytes> Take(uint64_t length);
  // Writes `length` bytes to `file` at `offset`; the frame must end there.
  Result<> TakeRest(uint64_t length, const File& file, uint64_t offset);

 private:
  std::unique_ptr<ZstdSource> source_;
};
bool StartsLikeFrame(const File& file);

// Values of a JSON text that an enemy may have written.
Result<std::vector<uint64_t>> ReadShape(JsonReader& json);
// A whole number in its own digits, perhaps negative; empty for null. `text` is what `json` reads.
Result<std::string> ReadNumberText(JsonReader& json, std::string_view text);

}  // namespace wdelta
