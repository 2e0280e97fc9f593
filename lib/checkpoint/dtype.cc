#include "checkpoint/dtype.h"

#include <array>
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

}  // namespace wdelta
