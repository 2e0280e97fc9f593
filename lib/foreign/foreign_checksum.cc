// Checksums of whole tensors, and the names that other systems have for types and files.
#include <algorithm>

#include "foreign/foreign_parts.h"

namespace wdelta {

namespace {

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
  const auto* found = std::ranges::find(kTorchNames, name, &std::pair<std::string_view, Dtype>::first);
  return found == std::end(kTorchNames) ? std::nullopt : std::optional(found->second);
}

std::string_view TorchName(Dtype dtype) {
  const auto* found = std::ranges::find(kTorchNames, dtype, &std::pair<std::string_view, Dtype>::second);
  return found == std::end(kTorchNames) ? "" : found->first;
}

bool IsPlainShardName(std::string_view name) {
  constexpr size_t kLongest = 255;  // that file systems have
  return name.ends_with(".safetensors") && name.size() > 12 && name.size() <= kLongest && !name.starts_with('.') &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

}  // namespace wdelta
