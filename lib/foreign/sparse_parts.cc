#include "foreign/sparse_parts.h"

#include <algorithm>
#include <array>

#include "core/text.h"

namespace wdelta {

Error ForeignTensorError(std::string_view kind, const std::string& path, std::string_view tensor,
                         const std::string& why) {
  Error error = ForeignError(kind, path, "tensor '" + Shorten(tensor) + "': " + why);
  error.tensor = tensor;
  return error;
}

namespace {

std::string FormText(Dtype dtype, std::span<const uint64_t> shape) {
  std::string text(DtypeName(dtype));
  text += '[';
  for (size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(shape[i]);
  return text + ']';
}

class Named final : public ForeignStream {
 public:
  Named(std::unique_ptr<ForeignStream> stream, const ForeignDelta& delta, const ForeignTensor& tensor)
      : stream_(std::move(stream)), kind_(delta.kind()), path_(delta.path()), tensor_(tensor.name) {}

  Result<> Apply(MutableByteSpan block) override { return WithName(stream_->Apply(block)); }
  Result<> End() override { return WithName(stream_->End()); }

 private:
  Result<> WithName(Result<> result) const {
    if (result.ok() || result.error().kind != ErrorKind::kIntegrity || !result.error().path.empty()) return result;
    return ForeignTensorError(kind_, path_, tensor_, result.error().message);
  }

  std::unique_ptr<ForeignStream> stream_;
  std::string kind_, path_, tensor_;
};

class Listed final : public PositionSource {
 public:
  explicit Listed(NumberSource numbers) : numbers_(std::move(numbers)) {}
  Result<std::optional<uint64_t>> Next() override {
    if (numbers_.AtEnd()) return std::optional<uint64_t>();
    WD_ASSIGN(const uint64_t number, numbers_.Next());
    return std::optional(number);
  }

 private:
  NumberSource numbers_;
};

constexpr size_t kPiece = 256 << 10;
constexpr size_t kMostDimensions = 64;
constexpr std::array<uint8_t, 4> kFrameMagic = {0x28, 0xb5, 0x2f, 0xfd};

}  // namespace

Result<> ExpectForm(const ForeignDelta& delta, const ForeignTensor& tensor, Dtype dtype,
                    std::span<const uint64_t> shape) {
  const Dtype said_dtype = tensor.dtype.value_or(dtype);
  const std::span<const uint64_t> said_shape = tensor.shape ? std::span<const uint64_t>(*tensor.shape) : shape;
  if (said_dtype == dtype && std::ranges::equal(said_shape, shape)) return {};
  Error error{ErrorKind::kConflict};
  error.path = delta.path();
  error.tensor = tensor.name;
  error.expected = FormText(said_dtype, said_shape);
  error.found = FormText(dtype, shape);
  error.message = std::string(delta.kind()) + " '" + delta.path() + "': tensor '" + Shorten(tensor.name) + "' is " +
                  error.expected + ", but the base has it as " + error.found;
  return error;
}

std::unique_ptr<ForeignStream> NamedStream(std::unique_ptr<ForeignStream> stream, const ForeignDelta& delta,
                                           const ForeignTensor& tensor) {
  return std::make_unique<Named>(std::move(stream), delta, tensor);
}

Result<uint64_t> NumberSource::Next() {
  std::array<uint8_t, 8> bytes{};  // little-endian: the bytes above are zero
  WD_TRY(bytes_->Read(MutableByteSpan(bytes).first(DtypeBits(dtype_) / 8)));
  const auto number = Load<uint64_t>(bytes.data());
  const bool negative = dtype_ == Dtype::kI32 ? number > INT32_MAX : dtype_ == Dtype::kI64 ? number > INT64_MAX : false;
  if (negative) return Error{ErrorKind::kIntegrity, "an index is negative"};
  return number;
}

std::unique_ptr<PositionSource> ListedPositions(NumberSource numbers) {
  return std::make_unique<Listed>(std::move(numbers));
}

FrameFile::FrameFile(std::shared_ptr<const File> file) {
  source_ = std::make_unique<ZstdSource>(
      [file = std::move(file), at = uint64_t{0}](MutableByteSpan buffer) mutable -> Result<size_t> {
        WD_ASSIGN(const FileIdentity identity, file->Identify());
        if (at >= identity.size) return size_t{0};
        const size_t length = std::min<uint64_t>(buffer.size(), identity.size - at);
        WD_TRY(file->ReadAt(at, buffer.first(length)));
        at += length;
        return length;
      });
}

Result<Bytes> FrameFile::Take(uint64_t length) {
  Bytes bytes;
  while (bytes.size() < length) {
    const size_t had = bytes.size();
    bytes.resize(had + std::min<uint64_t>(kPiece, length - had));
    WD_TRY(source_->Read(MutableByteSpan(bytes).subspan(had)));
  }
  return bytes;
}

Result<> FrameFile::TakeRest(uint64_t length, const File& file, uint64_t offset) {
  Bytes piece(std::min<uint64_t>(kPiece, length));
  for (uint64_t done = 0; done < length;) {
    const MutableByteSpan part = MutableByteSpan(piece).first(std::min<uint64_t>(piece.size(), length - done));
    WD_TRY(source_->Read(part));
    WD_TRY(file.WriteAt(offset + done, part));
    done += part.size();
  }
  return source_->ExpectEnd();
}

bool StartsLikeFrame(const File& file) {
  std::array<uint8_t, 4> first{};
  return file.ReadAt(0, first).ok() && first == kFrameMagic;
}

Result<std::vector<uint64_t>> ReadShape(JsonReader& json) {
  std::vector<uint64_t> shape;
  WD_TRY(json.BeginArray());
  for (;;) {
    WD_ASSIGN(const bool more, json.NextElement());
    if (!more) return shape;
    if (shape.size() == kMostDimensions) return Error{ErrorKind::kIntegrity, "a shape has too many dimensions"};
    WD_ASSIGN(const uint64_t length, json.UnsignedInteger());
    shape.push_back(length);
  }
}

Result<std::string> ReadNumberText(JsonReader& json, std::string_view text) {
  WD_ASSIGN(const JsonReader::Type type, json.Peek());
  if (type == JsonReader::Type::kNull) {
    WD_TRY(json.Null());
    return std::string();
  }
  const size_t begin = json.position();
  WD_TRY(json.Skip());
  const std::string_view number = text.substr(begin, json.position() - begin);
  if (number.size() > 20 || number.find_first_not_of("-0123456789") != std::string_view::npos)
    return Error{ErrorKind::kIntegrity, "byte " + std::to_string(begin) + ": expected a whole number"};
  return std::string(number);
}

}  // namespace wdelta
