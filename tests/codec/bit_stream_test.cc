#include "codec/bit_stream.h"

#include <doctest/doctest.h>

#include "support/random_checkpoint.h"

namespace wdelta {
namespace {

uint64_t NumberOfWidth(Dice& dice, unsigned bits) {
  return LowBits(dice.Bits(), bits);
}

struct Item {
  bool rice;
  uint64_t value;
  unsigned width;  // of the bits, or the Rice parameter
};

TEST_CASE("bits and Rice codes of every width come back in order, whatever stands around them") {
  Dice dice(21);
  for (int round = 0; round < 300; ++round) {
    std::vector<Item> items(dice.Below(200));
    for (Item& item : items) {
      item.rice = dice.OneIn(2);
      item.width = static_cast<unsigned>(dice.Below(item.rice ? 24 : 65));
      item.value = NumberOfWidth(dice, item.rice ? static_cast<unsigned>(dice.Below(65)) : item.width);
    }
    Bytes bytes = {0xaa};  // what is there already stays
    BitWriter out(bytes);
    for (const Item& item : items) item.rice ? out.Rice(item.value, item.width) : out.Bits(item.value, item.width);
    out.Finish();
    REQUIRE(bytes[0] == 0xaa);
    BitReader in(ByteSpan(bytes).subspan(1));
    for (const Item& item : items) {
      REQUIRE((item.rice ? in.Rice(item.width) : in.Bits(item.width)) == item.value);
    }
    CHECK(in.ok());
    CHECK(in.AtEnd());
  }
}

TEST_CASE("the first bit lies in the lowest bit of the first byte, and the last byte is filled with zeros") {
  Bytes bytes;
  BitWriter out(bytes);
  out.Bits(1, 1);
  out.Bits(0, 1);
  out.Bits(0x1ff, 9);
  out.Finish();
  CHECK(bytes == Bytes{0xfd, 0x07});
}

TEST_CASE("only the low bits of a number are written") {
  Bytes bytes;
  BitWriter out(bytes);
  out.Bits(~uint64_t{0}, 3);
  out.Bits(0, 5);
  out.Finish();
  CHECK(bytes == Bytes{0x07});
}

TEST_CASE("a Rice code has its quotient in zeros up to 31, and 96 bits for all that is larger") {
  const auto length = [](uint64_t value, unsigned k) {
    Bytes bytes;
    BitWriter out(bytes);
    out.Rice(value, k);
    out.Bits(1, 1);  // a mark right behind it
    out.Finish();
    BitReader in(bytes);
    REQUIRE(in.Rice(k) == value);
    const uint64_t used = bytes.size() * 8 - in.bits_left();
    CHECK(in.Bits(1) == 1);
    return used;
  };
  for (unsigned k = 0; k < 24; ++k) {
    for (uint64_t quotient = 0; quotient < 40; ++quotient) {
      for (const uint64_t rest : {uint64_t{0}, LowBits(~uint64_t{0}, k)}) {
        CHECK(length(quotient << k | rest, k) == (quotient > 31 ? 96 : quotient + 1 + k));
      }
    }
    CHECK(length(~uint64_t{0}, k) == 96);
  }
}

TEST_CASE("a Rice code survives at every place within a byte and up to the very end") {
  for (unsigned before = 0; before < 64; ++before) {
    for (const uint64_t quotient : {0u, 1u, 30u, 31u, 32u}) {
      Bytes bytes;
      BitWriter out(bytes);
      out.Bits(~uint64_t{0}, before);
      out.Rice(quotient << 23 | 0x2aaaaa, 23);
      out.Finish();
      BitReader in(bytes);
      in.Bits(before);
      CHECK(in.Rice(23) == (quotient << 23 | 0x2aaaaa));
      CHECK(in.AtEnd());
    }
  }
}

TEST_CASE("three Rice codes at once are what one by one gives, and are left alone where they do not fit") {
  uint64_t state = 1;
  const auto random = [&](unsigned bits) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return bits == 0 ? 0 : state >> (64 - bits);
  };
  uint64_t by_three = 0, single = 0;
  for (unsigned k = 0; k < 24; ++k) {
    for (int round = 0; round < 20; ++round) {
      Bytes bytes;
      BitWriter out(bytes);
      out.Bits(0, static_cast<unsigned>(round % 8));
      std::vector<uint64_t> values;
      for (int i = 0; i < 60; ++i) {
        const uint64_t quotient = random(4) == 0 ? random(6) : random(2);
        values.push_back(random(7) == 0 ? random(64) : quotient << k | random(k));
        out.Rice(values.back(), k);
      }
      out.Finish();
      BitReader in(bytes);
      in.Bits(static_cast<unsigned>(round % 8));
      std::vector<uint64_t> taken;
      while (taken.size() < values.size()) {
        uint64_t three[3];
        const uint64_t left = in.bits_left();
        if (taken.size() + 3 <= values.size() && in.ThreeRice(k, three)) {
          taken.insert(taken.end(), three, three + 3);
          ++by_three;
          continue;
        }
        CHECK(in.bits_left() == left);
        taken.push_back(in.Rice(k));
        ++single;
      }
      CHECK(taken == values);
      CHECK(in.AtEnd());
    }
  }
  CHECK(by_three > 1000);
  CHECK(single > 1000);
  for (const Bytes& bytes : {Bytes(), Bytes(7, 0xff), Bytes(64, 0)}) {
    BitReader in(bytes);
    uint64_t three[3];
    CHECK_FALSE(in.ThreeRice(5, three));
    CHECK(in.bits_left() == 8 * bytes.size());
  }
}

TEST_CASE("reading past the end gives zeros and is noticed, however far it goes") {
  const Bytes bytes = {0xff, 0xff, 0xff};
  BitReader in(bytes);
  CHECK(in.Bits(32) == 0xffffff);
  CHECK_FALSE(in.ok());
  CHECK(in.bits_left() == 0);
  for (int i = 0; i < 1000; ++i) CHECK(in.Rice(23) == 0);
  CHECK(in.Bits(64) == 0);
  CHECK_FALSE(in.ok());
  CHECK_FALSE(in.AtEnd());
  BitReader empty((ByteSpan()));
  CHECK(empty.ok());
  CHECK(empty.AtEnd());
  CHECK(empty.Bits(0) == 0);
  CHECK(empty.AtEnd());
}

TEST_CASE("the end is where fewer than eight bits are left, all of them zero") {
  const auto at_end = [](const Bytes& bytes, unsigned read) {
    BitReader in(bytes);
    in.Bits(read);
    return in.AtEnd();
  };
  CHECK(at_end({0x07}, 3));
  CHECK(at_end({0x07}, 8));
  CHECK_FALSE(at_end({0x0f}, 3));
  CHECK_FALSE(at_end({0x07, 0x00}, 3));
  CHECK_FALSE(at_end({0x00}, 0));
  CHECK_FALSE(at_end({0x00}, 9));
}

}  // namespace
}  // namespace wdelta
