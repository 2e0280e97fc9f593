// The 22 element types of safetensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace wdelta {

// In the ascending order of the reference implementation, whose writer sorts by it.
enum class Dtype : uint8_t {
  kBool,
  kF4,
  kF6E2M3,
  kF6E3M2,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kF8E8M0,
  kF8E4M3Fnuz,
  kF8E5M2Fnuz,
  kI16,
  kU16,
  kF16,
  kBF16,
  kI32,
  kU32,
  kF32,
  kC64,
  kF64,
  kI64,
  kU64,
};
inline constexpr unsigned kDtypeCount = 22;

std::string_view DtypeName(Dtype dtype);                    // "BF16"
std::optional<Dtype> DtypeFromName(std::string_view name);  // case-sensitive
unsigned DtypeBits(Dtype dtype);

// The bytes that are compared, counted and addressed as one element: the element itself, or one byte for types that
// are smaller than a byte, whose elements share bytes.
unsigned UnitBytes(Dtype dtype);

}  // namespace wdelta
