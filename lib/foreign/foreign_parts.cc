#include "foreign/foreign_parts.h"

#include <algorithm>
#include <array>

namespace wdelta {

namespace {

class PartOfFile final : public ByteFeed {
 public:
  explicit PartOfFile(FileRange range) : range_(std::move(range)) {}

  uint64_t left() const override { return range_.end - range_.begin + (buffer_.size() - used_); }
  Result<> Read(MutableByteSpan out) override {
    if (out.size() > left()) return Error{ErrorKind::kIntegrity, "ends too early"};
    while (!out.empty()) {
      if (used_ == buffer_.size()) {
        buffer_.resize(std::min<uint64_t>(range_.end - range_.begin, kBuffer));
        WD_TRY(range_.file->ReadAt(range_.begin, buffer_));
        range_.begin += buffer_.size();
        used_ = 0;
      }
      const size_t length = std::min(out.size(), buffer_.size() - used_);
      std::copy_n(buffer_.begin() + static_cast<ptrdiff_t>(used_), length, out.begin());
      used_ += length;
      out = out.subspan(length);
    }
    return {};
  }

 private:
  static constexpr uint64_t kBuffer = 64 << 10;
  FileRange range_;  // what is not in the buffer yet
  Bytes buffer_;
  size_t used_ = 0;
};

// What is left of a frame.
class RestOfFrame final : public ByteFeed {
 public:
  RestOfFrame(FrameReader frame, uint64_t bytes) : frame_(std::move(frame)), left_(bytes) {}
  uint64_t left() const override { return left_; }
  Result<> Read(MutableByteSpan out) override {
    if (out.size() > left_) return Error{ErrorKind::kIntegrity, "ends too early"};
    left_ -= out.size();
    return frame_.Read(out);
  }
  Result<> End() override { return frame_.ExpectEnd(); }

 private:
  FrameReader frame_;
  uint64_t left_;
};

// Puts values at positions, as the blocks of the tensor pass by.
class Overwrite final : public ForeignStream {
 public:
  Overwrite(PositionSource positions, std::unique_ptr<ByteFeed> values, unsigned unit, uint64_t units)
      : positions_(std::move(positions)), values_(std::move(values)), unit_(unit), units_(units) {}

  Result<> Apply(MutableByteSpan block) override {
    const uint64_t end = passed_ + block.size() / unit_;
    for (;;) {
      if (!looked_) WD_TRY(Look());
      if (!next_ || *next_ >= end) break;
      WD_TRY(values_->Read(block.subspan((*next_ - passed_) * unit_, unit_)));
      looked_ = false;
    }
    passed_ = end;
    return {};
  }
  Result<> End() override {
    if (!looked_) WD_TRY(Look());
    if (next_) return Error{ErrorKind::kIntegrity, "a position lies outside of the tensor"};
    if (values_->left() != 0) return Error{ErrorKind::kIntegrity, "there are more values than positions"};
    return values_->End();
  }

 private:
  Result<> Look() {
    const std::optional<uint64_t> before = next_;
    WD_ASSIGN(next_, positions_());
    if (next_ && before && *next_ <= *before) return Error{ErrorKind::kIntegrity, "positions do not rise"};
    if (next_ && *next_ >= units_) return Error{ErrorKind::kIntegrity, "a position lies outside of the tensor"};
    looked_ = true;
    return {};
  }

  PositionSource positions_;
  std::unique_ptr<ByteFeed> values_;
  unsigned unit_;
  uint64_t units_, passed_ = 0;
  std::optional<uint64_t> next_;
  bool looked_ = false;
};

class Xor final : public ForeignStream {
 public:
  explicit Xor(const FileRange& frame) : frame_(frame) {}
  Result<> Apply(MutableByteSpan block) override {
    difference_.resize(block.size());
    WD_TRY(frame_.Read(difference_));
    for (size_t i = 0; i < block.size(); ++i) block[i] ^= difference_[i];
    return {};
  }
  Result<> End() override { return frame_.ExpectEnd(); }

 private:
  FrameReader frame_;
  Bytes difference_;
};

constexpr size_t kPiece = 256 << 10;
constexpr size_t kMostDimensions = 64;
constexpr std::array<uint8_t, 4> kFrameMagic = {0x28, 0xb5, 0x2f, 0xfd};

}  // namespace

std::unique_ptr<ByteFeed> FilePart(FileRange range) {
  return std::make_unique<PartOfFile>(std::move(range));
}

FrameReader::FrameReader(FileRange range)
    : source_([part = std::shared_ptr(FilePart(std::move(range)))](MutableByteSpan buffer) -> Result<size_t> {
        const size_t length = static_cast<size_t>(std::min<uint64_t>(buffer.size(), part->left()));
        WD_TRY(part->Read(buffer.first(length)));
        return length;
      }) {}

Result<Bytes> FrameReader::Take(uint64_t length) {
  Bytes bytes;
  while (bytes.size() < length) {
    const size_t had = bytes.size();
    bytes.resize(had + std::min<uint64_t>(kPiece, length - had));
    WD_TRY(Read(MutableByteSpan(bytes).subspan(had)));
  }
  return bytes;
}

Result<> FrameReader::Unpack(uint64_t length, const File& file, uint64_t offset) {
  Bytes piece;
  for (uint64_t done = 0; done < length; done += piece.size()) {
    piece.resize(std::min<uint64_t>(kPiece, length - done));
    WD_TRY(Read(piece));
    WD_TRY(file.WriteAt(offset + done, piece));
  }
  return {};
}

bool StartsLikeFrame(const File& file) {
  std::array<uint8_t, 4> first{};
  return file.ReadAt(0, first).ok() && first == kFrameMagic;
}

std::unique_ptr<ForeignStream> OverwriteStream(PositionSource positions, std::unique_ptr<ByteFeed> values,
                                               unsigned unit, uint64_t units) {
  return std::make_unique<Overwrite>(std::move(positions), std::move(values), unit, units);
}

Result<uint64_t> NumberSource::Next() {
  std::array<uint8_t, 8> bytes{};  // little-endian: the bytes above are zero
  WD_TRY(bytes_->Read(MutableByteSpan(bytes).first(DtypeBits(dtype_) / 8)));
  const auto number = Load<uint64_t>(bytes.data());
  const bool negative = dtype_ == Dtype::kI32 ? number > INT32_MAX : dtype_ == Dtype::kI64 ? number > INT64_MAX : false;
  if (negative) return Error{ErrorKind::kIntegrity, "an index is negative"};
  return number;
}

PositionSource ListedPositions(NumberSource numbers) {
  return [numbers = std::move(numbers)]() mutable -> Result<std::optional<uint64_t>> {
    if (numbers.AtEnd()) return std::optional<uint64_t>();
    WD_ASSIGN(const uint64_t number, numbers.Next());
    return std::optional(number);
  };
}

std::unique_ptr<ForeignStream> XorFrame(const FileRange& frame) {
  return std::make_unique<Xor>(frame);
}

// All positions come before the first value, and may be many: they are unpacked into a file without a name.
Result<std::unique_ptr<ForeignStream>> OverwriteFrame(const FileRange& frame, uint64_t tensor_bytes,
                                                      const Environment& environment) {
  FrameReader reader(frame);
  uint8_t count_bytes[4];
  WD_TRY(reader.Read(count_bytes));
  const uint64_t count = Load<uint32_t>(count_bytes);
  if (count > tensor_bytes) return Error{ErrorKind::kIntegrity, "more changes than the tensor has bytes"};
  WD_ASSIGN(File file, File::CreateUnnamed(environment));
  WD_TRY(reader.Unpack(4 * count, file, 0));
  const FileRange positions{std::make_shared<const File>(std::move(file)), 0, 4 * count};
  return OverwriteStream(ListedPositions({positions, Dtype::kU32}),
                         std::make_unique<RestOfFrame>(std::move(reader), count), 1, tensor_bytes);
}

Result<> ReadShape(JsonReader& json, std::vector<uint64_t>& shape) {
  return json.Array([&]() -> Result<> {
    if (shape.size() == kMostDimensions) return Error{ErrorKind::kIntegrity, "a shape has too many dimensions"};
    return json.Into(shape.emplace_back());
  });
}

Result<> ReadNumberText(JsonReader& json, std::string_view text, std::string& number) {
  WD_ASSIGN(const JsonReader::Type type, json.Peek());
  const size_t begin = json.position();
  WD_TRY(json.Skip());
  number = type == JsonReader::Type::kNull ? "" : text.substr(begin, json.position() - begin);
  if (number.size() <= 20 && number.find_first_not_of("-0123456789") == std::string::npos) return {};
  return Error{ErrorKind::kIntegrity, "byte " + std::to_string(begin) + ": expected a whole number"};
}

}  // namespace wdelta
