#include "foreign/foreign_frame.h"

#include <algorithm>

namespace wdelta {

namespace {

// The bytes of a part of a file, as a frame takes them.
ZstdSource FrameOf(std::shared_ptr<const File> file, uint64_t begin, uint64_t end) {
  std::shared_ptr<ByteFeed> part = FilePart(std::move(file), begin, end);
  return ZstdSource([part](MutableByteSpan buffer) -> Result<size_t> {
    const size_t length = static_cast<size_t>(std::min<uint64_t>(buffer.size(), part->left()));
    WD_TRY(part->Read(buffer.first(length)));
    return length;
  });
}

class Xor final : public ForeignStream {
 public:
  explicit Xor(ZstdSource frame) : frame_(std::move(frame)) {}
  Result<> Apply(MutableByteSpan block) override {
    difference_.resize(block.size());
    WD_TRY(frame_.Read(difference_));
    for (size_t i = 0; i < block.size(); ++i) block[i] ^= difference_[i];
    return {};
  }
  Result<> End() override { return frame_.ExpectEnd(); }

 private:
  ZstdSource frame_;
  Bytes difference_;
};

class PositionsOfFour final : public PositionSource {
 public:
  explicit PositionsOfFour(std::unique_ptr<ByteFeed> bytes) : bytes_(std::move(bytes)) {}
  Result<std::optional<uint64_t>> Next() override {
    if (bytes_->left() == 0) return std::optional<uint64_t>();
    uint8_t position[4];
    WD_TRY(bytes_->Read(position));
    return std::optional<uint64_t>(Load<uint32_t>(position));
  }

 private:
  std::unique_ptr<ByteFeed> bytes_;
};

// What is left of a frame.
class RestOfFrame final : public ByteFeed {
 public:
  RestOfFrame(std::shared_ptr<ZstdSource> frame, uint64_t bytes) : frame_(std::move(frame)), left_(bytes) {}
  uint64_t left() const override { return left_; }
  Result<> Read(MutableByteSpan out) override {
    if (out.size() > left_) return Error{ErrorKind::kIntegrity, "ends too early"};
    left_ -= out.size();
    return frame_->Read(out);
  }

 private:
  std::shared_ptr<ZstdSource> frame_;
  uint64_t left_;
};

class OverwriteOfFrame final : public ForeignStream {
 public:
  OverwriteOfFrame(std::unique_ptr<ForeignStream> inner, std::shared_ptr<ZstdSource> frame)
      : inner_(std::move(inner)), frame_(std::move(frame)) {}
  Result<> Apply(MutableByteSpan block) override { return inner_->Apply(block); }
  Result<> End() override {
    WD_TRY(inner_->End());
    return frame_->ExpectEnd();
  }

 private:
  std::unique_ptr<ForeignStream> inner_;
  std::shared_ptr<ZstdSource> frame_;
};

// The next `bytes` of a frame in a file without a name: all positions come before the first value, and may be many.
Result<std::unique_ptr<ByteFeed>> Unpacked(ZstdSource& frame, uint64_t bytes, const Environment& environment) {
  WD_ASSIGN(File file, File::CreateUnnamed(environment));
  Bytes piece;
  for (uint64_t at = 0; at < bytes; at += piece.size()) {
    piece.resize(std::min<uint64_t>(bytes - at, 1 << 20));
    WD_TRY(frame.Read(piece));
    WD_TRY(file.WriteAt(at, piece));
  }
  return FilePart(std::make_shared<const File>(std::move(file)), 0, bytes);
}

constexpr std::pair<std::string_view, Dtype> kTorchNames[] = {
    {"bool", Dtype::kBool},
    {"uint8", Dtype::kU8},
    {"int8", Dtype::kI8},
    {"float8_e5m2", Dtype::kF8E5M2},
    {"float8_e4m3fn", Dtype::kF8E4M3},
    {"float8_e8m0fnu", Dtype::kF8E8M0},
    {"float8_e4m3fnuz", Dtype::kF8E4M3Fnuz},
    {"float8_e5m2fnuz", Dtype::kF8E5M2Fnuz},
    {"int16", Dtype::kI16},
    {"uint16", Dtype::kU16},
    {"float16", Dtype::kF16},
    {"bfloat16", Dtype::kBF16},
    {"int32", Dtype::kI32},
    {"uint32", Dtype::kU32},
    {"float32", Dtype::kF32},
    {"complex64", Dtype::kC64},
    {"float64", Dtype::kF64},
    {"int64", Dtype::kI64},
    {"uint64", Dtype::kU64},
};

}  // namespace

std::unique_ptr<ForeignStream> XorFrame(std::shared_ptr<const File> file, uint64_t begin, uint64_t end) {
  return std::make_unique<Xor>(FrameOf(std::move(file), begin, end));
}

Result<std::unique_ptr<ForeignStream>> OverwriteFrame(std::shared_ptr<const File> file, uint64_t begin, uint64_t end,
                                                      uint64_t tensor_bytes, const Environment& environment) {
  const auto frame = std::make_shared<ZstdSource>(FrameOf(std::move(file), begin, end));
  uint8_t count_bytes[4];
  WD_TRY(frame->Read(count_bytes));
  const uint64_t count = Load<uint32_t>(count_bytes);
  if (count > tensor_bytes) return Error{ErrorKind::kIntegrity, "more changes than the tensor has bytes"};
  WD_ASSIGN(std::unique_ptr<ByteFeed> positions, Unpacked(*frame, 4 * count, environment));
  auto stream = OverwriteStream(std::make_unique<PositionsOfFour>(std::move(positions)),
                                std::make_unique<RestOfFrame>(frame, count), 1, tensor_bytes);
  return std::unique_ptr<ForeignStream>(std::make_unique<OverwriteOfFrame>(std::move(stream), frame));
}

void ForeignHasher::Update(ByteSpan bytes) {
  if (kind_ == ForeignChecksum::kXxh3_128) xxh3_.Update(bytes);
  if (kind_ == ForeignChecksum::kSha256) sha256_.Update(bytes);
  if (kind_ == ForeignChecksum::kBlake3) blake3_.Update(bytes);
  if (kind_ != ForeignChecksum::kAdler32) return;
  constexpr uint32_t kPrime = 65521;
  constexpr size_t kRun = 5552;  // the most that fits 32 bits before the remainder must be taken
  for (size_t at = 0; at < bytes.size(); at += kRun) {
    for (const uint8_t byte : bytes.subspan(at, std::min(kRun, bytes.size() - at))) {
      adler_low_ += byte;
      adler_high_ += adler_low_;
    }
    adler_low_ %= kPrime;
    adler_high_ %= kPrime;
  }
}

std::string ForeignHasher::Finish() {
  switch (kind_) {
    case ForeignChecksum::kNone:
      return "";
    case ForeignChecksum::kXxh3_128:
      return Hex(xxh3_.Finish());
    case ForeignChecksum::kSha256:
      return Hex(sha256_.Finish());
    case ForeignChecksum::kBlake3:
      return Hex(blake3_.Finish());
    case ForeignChecksum::kAdler32: {
      const uint8_t big_endian[] = {static_cast<uint8_t>(adler_high_ >> 8), static_cast<uint8_t>(adler_high_),
                                    static_cast<uint8_t>(adler_low_ >> 8), static_cast<uint8_t>(adler_low_)};
      return Hex(big_endian);
    }
  }
  return "";
}

bool IsChecksum(std::string_view text, ForeignChecksum kind) {
  const size_t digits = kind == ForeignChecksum::kXxh3_128 ? 32 : kind == ForeignChecksum::kAdler32 ? 8 : 64;
  return kind != ForeignChecksum::kNone && text.size() == digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<Dtype> DtypeFromTorchName(std::string_view name) {
  if (name.starts_with("torch.")) name.remove_prefix(6);
  for (const auto& [torch_name, dtype] : kTorchNames) {
    if (torch_name == name) return dtype;
  }
  return std::nullopt;
}

std::string_view TorchName(Dtype dtype) {
  for (const auto& [torch_name, candidate] : kTorchNames) {
    if (candidate == dtype) return torch_name;
  }
  return "";
}

bool IsPlainShardName(std::string_view name) {
  constexpr size_t kLongest = 255;  // that file systems have
  return name.ends_with(".safetensors") && name.size() > 12 && name.size() <= kLongest && !name.starts_with('.') &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

}  // namespace wdelta
