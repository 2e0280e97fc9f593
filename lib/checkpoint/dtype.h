// The 22 element types of safetensors.
#pragma once

#include <bit>
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

// How a floating-point type keeps its numbers: a sign, then the exponent, then the mantissa.
struct FloatForm {
  // What stands for no ordinary number: infinities and NaN in the highest exponent, as IEEE 754 has it; only NaN, where
  // all bits after the sign are one; only NaN, where minus zero would be.
  enum class Special { kIeee, kAllOnes, kMinusZero };
  unsigned exponent_bits = 0, mantissa_bits = 0;
  int bias = 0;
  Special special = Special::kIeee;

  uint64_t exponent_mask() const { return (uint64_t{1} << exponent_bits) - 1; }
  uint64_t ExponentField(uint64_t pattern) const { return pattern >> mantissa_bits & exponent_mask(); }
  uint64_t SignBit() const { return uint64_t{1} << (exponent_bits + mantissa_bits); }
  // A quick look: false is certain.
  bool MayBeSpecial(uint64_t pattern) const {
    return special == Special::kMinusZero ? pattern == SignBit() : ExponentField(pattern) == exponent_mask();
  }
  bool IsNan(uint64_t pattern) const;
  bool IsInf(uint64_t pattern) const;
  // Of an ordinary number.
  double Value(uint64_t pattern) const {
    const uint64_t mantissa = pattern & ((uint64_t{1} << mantissa_bits) - 1), field = ExponentField(pattern);
    const uint64_t sign = (pattern & SignBit()) != 0 ? uint64_t{1} << 63 : 0;
    if (field == 0) return SubnormalValue(mantissa, sign != 0);
    const uint64_t exponent = field + 1023 - static_cast<uint64_t>(bias);
    return std::bit_cast<double>(sign | exponent << 52 | mantissa << (52 - mantissa_bits));
  }

 private:
  double SubnormalValue(uint64_t mantissa, bool negative) const;  // or zero
};
// Absent for what is no float, for complex numbers, and for types without a sign or of less than a byte.
std::optional<FloatForm> FloatFormOf(Dtype dtype);

}  // namespace wdelta
