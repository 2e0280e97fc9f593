#include "checkpoint/dtype.h"

#include <doctest/doctest.h>

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

}  // namespace
}  // namespace wdelta
