#include "codec/adaptive_bit.h"
#include "codec/events.h"
#include "support/expect.h"
#include "support/made_change.h"

namespace wdelta {
namespace {

TEST_CASE("a chance that learns stays in range and comes near its bit, however long bits are equal") {
  for (const uint32_t limit : {0u, 1u, 250u, 1023u, 30000u}) {
    for (const bool bit : {false, true}) {
      for (const uint32_t start : {uint32_t{0}, uint32_t{1} << 31, ~uint32_t{0}}) {
        AdaptiveBit state{start, 0};
        uint32_t last = start;
        for (int i = 0; i < 200000; ++i) {
          state.Learn(bit, limit);
          REQUIRE((bit ? state.chance >= last : state.chance <= last));  // no way around the end
          last = state.chance;
        }
        CHECK(state.seen == limit);
        CHECK((bit ? state.Chance16() >= 65500 : state.Chance16() <= 35));
        AdaptiveBit other = state;  // and it is not stuck there
        for (int i = 0; i < 200000; ++i) other.Learn(!bit, limit);
        CHECK((bit ? other.Chance16() < 1000 : other.Chance16() > 64536));
      }
    }
  }
}

TEST_CASE("a chance comes near the share of ones") {
  Dice dice(101);
  for (const uint64_t one_in : {2u, 10u, 100u}) {
    AdaptiveBit state;
    for (int i = 0; i < 100000; ++i) state.Learn(dice.OneIn(one_in), 30000);
    CHECK(state.Chance16() > 65536 / one_in * 8 / 10);
    CHECK(state.Chance16() < 65536 / one_in * 12 / 10);
  }
}

struct Decision {
  bool bit;
  unsigned chance;
};

Bytes Coded(const std::vector<Decision>& decisions) {
  Bytes bytes;
  BitEncoder out(bytes);
  for (const Decision& decision : decisions) out.Put(decision.bit, decision.chance);
  out.Finish();
  return bytes;
}

void CheckDecisions(const std::vector<Decision>& decisions) {
  const Bytes bytes = Coded(decisions);
  BitDecoder in(bytes);
  for (const Decision& decision : decisions) {
    REQUIRE(in.Take(decision.chance) == decision.bit);
    REQUIRE_FALSE(in.PastEnd());
  }
  CHECK(in.AtEnd());
}

TEST_CASE("bits of any chance come back, the likely and the unlikely, and the decoder ends where the encoder did") {
  Dice dice(102);
  for (int round = 0; round < Rounds(300); ++round) {
    std::vector<Decision> decisions(dice.Below(3000));
    const auto kind = dice.Below(4);
    for (Decision& decision : decisions) {
      const unsigned extremes[] = {0, 1, 2, 32768, 65534, 65535, 65536, ~0u};
      decision.chance = kind == 0 ? extremes[dice.Below(8)] : static_cast<unsigned>(dice.Below(65536));
      decision.bit = kind == 1 ? decision.chance > 32768 : kind == 2 ? decision.chance < 32768 : dice.OneIn(2);
    }
    CheckDecisions(decisions);
  }
}

TEST_CASE("long runs of bits that were certain, or certain not to be, come back") {
  for (const unsigned chance : {0u, 1u, 65535u, 65536u}) {
    for (const bool bit : {false, true}) {
      std::vector<Decision> decisions(100000, {bit, chance});
      CheckDecisions(decisions);
      const bool likely = bit == (chance > 32768);
      const size_t length = Coded(decisions).size();
      if (likely) CHECK(length < 1000);
      if (!likely) CHECK(length > 190000);  // sixteen bits each
    }
  }
}

TEST_CASE("the interval at its narrowest still has room for both bits") {
  // Even chances in turn keep the middle of the interval at a place where no byte is settled.
  std::vector<Decision> decisions;
  for (int i = 0; i < 5000; ++i) decisions.push_back({i % 64 == 0, i % 3 == 0 ? 65535u : 32768u});
  CheckDecisions(decisions);
  decisions.clear();
  decisions.push_back({true, 32768});
  for (int i = 0; i < 40; ++i) decisions.push_back({false, 32768});
  for (int i = 0; i < 40; ++i) decisions.push_back({i % 2 == 0, i % 2 == 0 ? 1u : 65535u});
  CheckDecisions(decisions);
}

TEST_CASE("bits cost what their chance says") {
  Dice dice(103);
  std::vector<Decision> decisions(100000);
  for (Decision& decision : decisions) decision = {dice.OneIn(100), 655};
  CHECK(Coded(decisions).size() < 100000 * 0.0808 / 8 * 1.08);
}

TEST_CASE("adaptive says blocks of floats of one and two bytes, and no others") {
  for (unsigned i = 0; i < kDtypeCount; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    CAPTURE(DtypeName(dtype));
    const bool says = dtype == Dtype::kBF16 || dtype == Dtype::kF16 || dtype == Dtype::kF8E4M3 ||
                      dtype == Dtype::kF8E5M2 || dtype == Dtype::kF8E4M3Fnuz || dtype == Dtype::kF8E5M2Fnuz;
    const MadeChange change = ListedChange(Bytes(160, 0x3c), Bytes(160, 0x3d), dtype);
    CHECK(Survives(change, kAdaptiveCodec) == says);
    BlockDelta delta;
    if (!says) CHECK_FALSE(kAdaptiveCodec.decode(Bytes(40, 0), change.Frame(), delta).ok());
  }
}

TEST_CASE("rows of any length, and blocks that begin anywhere in one, survive") {
  Dice dice(104);
  for (const uint64_t columns : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{63}, uint64_t{64},
                                 uint64_t{1024}, uint64_t{65536}, uint64_t{65537}, ~uint64_t{0}}) {
    CAPTURE(columns);
    for (int round = 0; round < 6; ++round) {
      MadeChange change = RandomBlockChange(dice, Dtype::kBF16, 1 + dice.Below(3000));
      change.columns = columns;
      change.first_unit = dice.OneIn(2) ? ~uint64_t{0} - dice.Below(5) : dice.Below(100000);
      Survives(change, kAdaptiveCodec);
      change = ListedChange(Bytes(700, 0x3c), Bytes(700, 0x3f), Dtype::kBF16);
      change.columns = columns;
      change.first_unit = dice.Bits();
      CHECK(Survives(change, kAdaptiveCodec));
    }
  }
}

TEST_CASE("directions that follow row and column cost less than directions that do not") {
  Dice dice(105);
  constexpr size_t kRows = 200, kColumns = 100;
  std::vector<int> row_sign(kRows), column_sign(kColumns);
  for (int& sign : row_sign) sign = dice.OneIn(2) ? 1 : -1;
  for (int& sign : column_sign) sign = dice.OneIn(2) ? 1 : -1;
  std::vector<uint16_t> before(kRows * kColumns, 0x3c40), rank_one = before, random = before;
  for (size_t i = 0; i < before.size(); ++i) {
    if (!dice.OneIn(4)) continue;
    rank_one[i] = static_cast<uint16_t>(before[i] + row_sign[i / kColumns] * column_sign[i % kColumns]);
    random[i] = static_cast<uint16_t>(before[i] + (dice.OneIn(2) ? 1 : -1));
  }
  size_t lengths[2];
  for (int i = 0; i < 2; ++i) {
    MadeChange change = ListedChange(before, i == 0 ? rank_one : random, Dtype::kBF16);
    change.columns = kColumns;
    CHECK(Survives(change, kAdaptiveCodec));
    Bytes coded;
    kAdaptiveCodec.encode(change.View(), Level::kMax, coded);
    lengths[i] = coded.size();
  }
  CHECK(lengths[0] + 300 < lengths[1]);  // of about 5000 directions, a bit each
}

TEST_CASE("a head that cannot be is refused") {
  const auto decode = [](uint64_t columns, uint64_t column, uint64_t run_bytes, const Bytes& rest) {
    ByteWriter head;
    head.Fixed<uint8_t>(255);
    head.Varint(columns);
    head.Varint(column);
    head.Varint(run_bytes);
    head.Raw(rest);
    const Bytes old_block(200, 0x3c);
    BlockDelta delta;
    return kAdaptiveCodec.decode(head.bytes(), {old_block, 200, Dtype::kBF16}, delta);
  };
  CHECK_FAILS(decode(0, 0, 1, Bytes(9)), ErrorKind::kIntegrity, "rows out of range");
  CHECK_FAILS(decode(10, 10, 1, Bytes(9)), ErrorKind::kIntegrity, "rows out of range");
  CHECK_FAILS(decode(65537, 0, 1, Bytes(9)), ErrorKind::kIntegrity, "rows out of range");
  CHECK_FAILS(decode(~uint64_t{0}, 0, 1, Bytes(9)), ErrorKind::kIntegrity, "rows out of range");
  CHECK_FAILS(decode(10, 0, uint64_t{1} << 40, Bytes(9)), ErrorKind::kIntegrity, "ends too early");
  CHECK_FAILS(decode(10, 0, 2, Bytes(9)), ErrorKind::kIntegrity, "run flags");
  CHECK_FAILS(decode(10, 0, 1, Bytes{0x08, 0, 0, 0, 0}), ErrorKind::kIntegrity, "run flags");
  CHECK_FAILS(decode(10, 0, 1, Bytes{0}), ErrorKind::kIntegrity, "");
  CHECK_FAILS(decode(10, 0, 1, Bytes(9)), ErrorKind::kIntegrity, "ends too early");
}

TEST_CASE("adaptive refuses what it cannot say: no old block, a whole delta, no change") {
  MadeChange change = ListedChange(Bytes(100, 1), Bytes(100, 2), Dtype::kBF16);
  CHECK(Survives(change, kAdaptiveCodec));
  change.delta.whole = true;
  CHECK_FALSE(Survives(change, kAdaptiveCodec));
  CHECK_FALSE(Survives(ListedChange(Bytes(100, 1), Bytes(100, 1), Dtype::kBF16), kAdaptiveCodec));
  BlockDelta delta;
  CHECK_FAILS(kAdaptiveCodec.decode(Bytes(20, 0), {{}, 100, Dtype::kBF16}, delta), ErrorKind::kIntegrity, "old block");
}

}  // namespace
}  // namespace wdelta
