#include "checkpoint/dtype.h"

#include <array>
#include <cmath>
#include <cstddef>

namespace wdelta {

namespace {

struct DtypeRow {
  std::string_view name;
  unsigned bits;
};

// In the order of the enum.
constexpr std::array<DtypeRow, kDtypeCount> kDtypes = {{
    {"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},          {"I8", 8},
    {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
    {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
    {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64},
}};
static_assert(kDtypes[static_cast<size_t>(Dtype::kU64)].name == "U64");

}  // namespace

std::string_view DtypeName(Dtype dtype) {
  return kDtypes[static_cast<size_t>(dtype)].name;
}

std::optional<Dtype> DtypeFromName(std::string_view name) {
  for (size_t i = 0; i < kDtypes.size(); ++i) {
    if (kDtypes[i].name == name) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

unsigned DtypeBits(Dtype dtype) {
  return kDtypes[static_cast<size_t>(dtype)].bits;
}

unsigned UnitBytes(Dtype dtype) {
  return DtypeBits(dtype) < 8 ? 1 : DtypeBits(dtype) / 8;
}

std::optional<FloatForm> FloatFormOf(Dtype dtype) {
  using Special = FloatForm::Special;
  switch (dtype) {
    case Dtype::kBF16:
      return FloatForm{8, 7, 127, Special::kIeee};
    case Dtype::kF16:
      return FloatForm{5, 10, 15, Special::kIeee};
    case Dtype::kF32:
      return FloatForm{8, 23, 127, Special::kIeee};
    case Dtype::kF64:
      return FloatForm{11, 52, 1023, Special::kIeee};
    case Dtype::kF8E5M2:
      return FloatForm{5, 2, 15, Special::kIeee};
    case Dtype::kF8E4M3:
      return FloatForm{4, 3, 7, Special::kAllOnes};
    case Dtype::kF8E5M2Fnuz:
      return FloatForm{5, 2, 16, Special::kMinusZero};
    case Dtype::kF8E4M3Fnuz:
      return FloatForm{4, 3, 8, Special::kMinusZero};
    default:
      return std::nullopt;
  }
}

bool FloatForm::IsNan(uint64_t pattern) const {
  const uint64_t magnitude = pattern & (SignBit() - 1);
  switch (special) {
    case Special::kIeee:
      return magnitude > exponent_mask() << mantissa_bits;
    case Special::kAllOnes:
      return magnitude == SignBit() - 1;
    case Special::kMinusZero:
      return pattern == SignBit();
  }
  return false;
}

bool FloatForm::IsInf(uint64_t pattern) const {
  return special == Special::kIeee && (pattern & (SignBit() - 1)) == exponent_mask() << mantissa_bits;
}

double FloatForm::SubnormalValue(uint64_t mantissa, bool negative) const {
  const double magnitude = std::ldexp(static_cast<double>(mantissa), 1 - bias - static_cast<int>(mantissa_bits));
  return negative ? -magnitude : magnitude;
}

}  // namespace wdelta
