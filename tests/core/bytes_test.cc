#include "core/bytes.h"

#include "support/expect.h"

namespace wdelta {
namespace {

Bytes Varint(uint64_t value) {
  ByteWriter out;
  out.Varint(value);
  return out.Take();
}

Result<uint64_t> ReadVarint(std::initializer_list<uint8_t> bytes) {
  const Bytes copy(bytes);
  return ByteReader(copy).Varint();
}

TEST_CASE("a varint comes back as it went in, whatever its length") {
  for (unsigned bit = 0; bit < 64; ++bit) {
    for (const uint64_t value : {(uint64_t{1} << bit) - 1, uint64_t{1} << bit, ~uint64_t{0} >> bit}) {
      const Bytes bytes = Varint(value);
      ByteReader in(bytes);
      const auto read = in.Varint();
      REQUIRE_OK(read);
      CHECK(*read == value);
      CHECK(in.ExpectEnd().ok());
    }
  }
  CHECK(Varint(0).size() == 1);
  CHECK(Varint(127).size() == 1);
  CHECK(Varint(128).size() == 2);
  CHECK(Varint(~uint64_t{0}).size() == 10);
}

TEST_CASE("a varint that is cut short, too long or not in its shortest form is refused") {
  CHECK_FAILS(ReadVarint({}), ErrorKind::kIntegrity, "ends too early");
  CHECK_FAILS(ReadVarint({0x80}), ErrorKind::kIntegrity, "ends too early");
  CHECK_FAILS(ReadVarint({0x80, 0x00}), ErrorKind::kIntegrity, "shortest form");
  CHECK_FAILS(ReadVarint({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}), ErrorKind::kIntegrity,
              "64 bits");
  CHECK_FAILS(ReadVarint({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}), ErrorKind::kIntegrity,
              "64 bits");
}

TEST_CASE("a count that cannot be satisfied by what follows is refused before anything is allocated") {
  const Bytes bytes = {3, 'a', 'b', 'c'};
  CHECK(*ByteReader(bytes).Count() == 3);
  CHECK_FAILS(ByteReader(bytes).Count(2), ErrorKind::kIntegrity, "larger than what follows");
  const Bytes huge = Varint(~uint64_t{0});
  CHECK_FAILS(ByteReader(huge).Count(), ErrorKind::kIntegrity, "larger than what follows");
  CHECK_FAILS(ByteReader(huge).Text(), ErrorKind::kIntegrity, "ends too early");
  CHECK_FAILS(ByteReader(huge).Raw(~uint64_t{0}), ErrorKind::kIntegrity, "ends too early");
}

TEST_CASE("numbers and texts come back in the order in which they were written") {
  ByteWriter out;
  out.Fixed<uint16_t>(0x1234);
  out.Text("grüße");
  out.Fixed<uint64_t>(~uint64_t{0} - 1);
  out.Text("");
  CHECK(out.bytes()[0] == 0x34);  // least significant byte first
  ByteReader in(out.bytes());
  CHECK(*in.Fixed<uint16_t>() == 0x1234);
  CHECK(*in.Text() == "grüße");
  CHECK(*in.Fixed<uint64_t>() == ~uint64_t{0} - 1);
  CHECK_FAILS(in.ExpectEnd(), ErrorKind::kIntegrity, "1 bytes too many");
  CHECK(in.Text()->empty());
  CHECK(in.ExpectEnd().ok());
  CHECK_FAILS(in.Fixed<uint8_t>(), ErrorKind::kIntegrity, "ends too early");
}

TEST_CASE("sums and products that overflow are noticed") {
  uint64_t out = 0;
  CHECK(CheckedAdd(~uint64_t{0}, 0, &out));
  CHECK(out == ~uint64_t{0});
  CHECK_FALSE(CheckedAdd(~uint64_t{0}, 1, &out));
  CHECK(CheckedMultiply(uint64_t{1} << 32, (uint64_t{1} << 32) - 1, &out));
  CHECK_FALSE(CheckedMultiply(uint64_t{1} << 32, uint64_t{1} << 32, &out));
}

TEST_CASE("an unaligned load reads what an unaligned store wrote") {
  uint8_t room[16] = {};
  for (size_t at = 0; at <= 8; ++at) {
    Store<uint64_t>(room + at, 0x0102030405060708);
    CHECK(Load<uint64_t>(room + at) == 0x0102030405060708);
    CHECK(room[at] == 8);
  }
}

}  // namespace
}  // namespace wdelta
