#include "checkpoint/dtype.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <string>

namespace wdelta {
namespace {

TEST_CASE("the 22 dtypes have distinct names that lead back to them") {
  std::set<std::string_view> names;
  for (unsigned i = 0; i < kDtypeCount; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    names.insert(DtypeName(dtype));
    CHECK(DtypeFromName(DtypeName(dtype)) == dtype);
  }
  CHECK(names.size() == 22);
}

TEST_CASE("each dtype has the bits that its name promises") {
  const auto bits = [](std::string_view name) { return DtypeBits(*DtypeFromName(name)); };
  CHECK(bits("F4") == 4);
  for (const char* name : {"F6_E2M3", "F6_E3M2"}) CHECK(bits(name) == 6);
  for (const char* name : {"BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"}) {
    CHECK(bits(name) == 8);
  }
  for (const char* name : {"I16", "U16", "F16", "BF16"}) CHECK(bits(name) == 16);
  for (const char* name : {"I32", "U32", "F32"}) CHECK(bits(name) == 32);
  for (const char* name : {"C64", "F64", "I64", "U64"}) CHECK(bits(name) == 64);
}

TEST_CASE("the enum names the dtype that its name says") {
  CHECK(DtypeName(Dtype::kBool) == "BOOL");
  CHECK(DtypeName(Dtype::kF8E4M3) == "F8_E4M3");
  CHECK(DtypeName(Dtype::kF8E5M2Fnuz) == "F8_E5M2FNUZ");
  CHECK(DtypeName(Dtype::kI16) == "I16");
  CHECK(DtypeName(Dtype::kBF16) == "BF16");
  CHECK(DtypeName(Dtype::kC64) == "C64");
}

TEST_CASE("a name in another case, cut short or unknown is no dtype") {
  for (const char* name : {"bf16", "BF1", "BF16 ", "", "F128", "F8_E4M3FN"})
    CHECK_FALSE(DtypeFromName(name).has_value());
}

TEST_CASE("elements of less than a byte are addressed as bytes") {
  CHECK(UnitBytes(Dtype::kF4) == 1);
  CHECK(UnitBytes(Dtype::kF6E3M2) == 1);
  CHECK(UnitBytes(Dtype::kU8) == 1);
  CHECK(UnitBytes(Dtype::kBF16) == 2);
  CHECK(UnitBytes(Dtype::kC64) == 8);
}

TEST_CASE("the numbers of every float type are those that it means") {
  const FloatForm bf16 = *FloatFormOf(Dtype::kBF16);
  for (uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const float expected = std::bit_cast<float>(pattern << 16);
    CHECK(bf16.IsNan(pattern) == std::isnan(expected));
    CHECK(bf16.IsInf(pattern) == std::isinf(expected));
    if (std::isfinite(expected)) CHECK(bf16.Value(pattern) == expected);
  }
  const auto value = [](Dtype dtype, uint64_t pattern) { return FloatFormOf(dtype)->Value(pattern); };
  CHECK(value(Dtype::kF32, 0x00000001) == std::ldexp(1.0, -149));
  CHECK(value(Dtype::kF64, 0xbff8000000000000) == -1.5);
  CHECK(value(Dtype::kF64, 1) == std::numeric_limits<double>::denorm_min());
  CHECK(value(Dtype::kF16, 0x7bff) == 65504);
  CHECK(value(Dtype::kF16, 0x8001) == -std::ldexp(1.0, -24));
  CHECK(value(Dtype::kF8E4M3, 0x7e) == 448);
  CHECK(value(Dtype::kF8E4M3, 0x01) == std::ldexp(1.0, -9));
  CHECK(value(Dtype::kF8E5M2, 0x7b) == 57344);
  CHECK(value(Dtype::kF8E4M3Fnuz, 0x7f) == 240);
  CHECK(value(Dtype::kF8E5M2Fnuz, 0x7f) == 57344);
}

TEST_CASE("NaN and infinity are where each float type has them") {
  const auto nans = [](Dtype dtype) {
    int count = 0;
    for (uint64_t pattern = 0; pattern < 256; ++pattern) count += FloatFormOf(dtype)->IsNan(pattern);
    return count;
  };
  const auto infs = [](Dtype dtype) {
    int count = 0;
    for (uint64_t pattern = 0; pattern < 256; ++pattern) count += FloatFormOf(dtype)->IsInf(pattern);
    return count;
  };
  CHECK(nans(Dtype::kF8E5M2) == 6);
  CHECK(infs(Dtype::kF8E5M2) == 2);
  CHECK(nans(Dtype::kF8E4M3) == 2);
  CHECK(infs(Dtype::kF8E4M3) == 0);
  CHECK(nans(Dtype::kF8E4M3Fnuz) == 1);
  CHECK(nans(Dtype::kF8E5M2Fnuz) == 1);
  CHECK(FloatFormOf(Dtype::kF8E4M3Fnuz)->IsNan(0x80));
  CHECK_FALSE(FloatFormOf(Dtype::kI16).has_value());
  CHECK_FALSE(FloatFormOf(Dtype::kC64).has_value());
}

}  // namespace
}  // namespace wdelta
