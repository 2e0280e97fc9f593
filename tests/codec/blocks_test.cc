// Laws that hold for each codec and any block.
#include "support/expect.h"
#include "support/made_change.h"

namespace wdelta {
namespace {

size_t AnyLength(Dice& dice, int round) {
  if (round % 4 == 0) return 1 + dice.Below(130);
  return 1 + dice.Below(uint64_t{1} << (6 + dice.Below(8)));
}

TEST_CASE("each codec gives random blocks of each dtype back, by the same bytes each time") {
  for (const Codec& codec : CodecTable()) {
    CAPTURE(codec.name);
    int said = 0;
    for (unsigned dtype = 0; dtype < kDtypeCount; ++dtype) {
      CAPTURE(DtypeName(static_cast<Dtype>(dtype)));
      for (int round = 0; round < Rounds(40); ++round) {
        const uint64_t seed = dtype * 1000u + static_cast<unsigned>(round);
        CAPTURE(seed);
        Dice dice(seed);
        const MadeChange change = RandomBlockChange(dice, static_cast<Dtype>(dtype), AnyLength(dice, round));
        said += Survives(change, codec, dice.Pick(std::vector{Level::kFast, Level::kDefault, Level::kMax}));
      }
    }
    CHECK(said > Rounds(100));
  }
}

TEST_CASE("each codec gives full blocks back") {
  for (const Dtype dtype : {Dtype::kU8, Dtype::kF8E4M3, Dtype::kBF16, Dtype::kF32, Dtype::kF64}) {
    CAPTURE(DtypeName(dtype));
    for (int round = 0; round < Rounds(4); ++round) {
      const uint64_t seed = 7000u + static_cast<unsigned>(round);
      CAPTURE(seed);
      Dice dice(seed);
      const MadeChange change = RandomBlockChange(dice, dtype, kBlockBytes / UnitBytes(dtype));
      for (const Codec& codec : CodecTable()) {
        CAPTURE(codec.name);
        Survives(change, codec);
      }
    }
  }
}

TEST_CASE("blocks decode in any order, each from its own bytes and its old block") {
  Dice dice(61);
  for (const Codec& codec : CodecTable()) {
    CAPTURE(codec.name);
    std::vector<MadeChange> changes;
    std::vector<Bytes> coded;
    while (changes.size() < 12) {
      changes.push_back(RandomBlockChange(dice, dice.OneIn(3) ? Dtype::kF8E5M2 : Dtype::kBF16, 1 + dice.Below(3000)));
      coded.emplace_back();
      if (codec.encode(changes.back().View(), Level::kDefault, coded.back())) continue;
      changes.pop_back();
      coded.pop_back();
    }
    BlockDelta kept;  // by one and the same thread, into what the block before left behind
    for (size_t i = changes.size(); i-- > 0;) {
      REQUIRE_OK(codec.decode(coded[i], changes[i].Frame(), kept));
      Bytes block = changes[i].before;
      block.resize(changes[i].after.size());
      REQUIRE_OK(PatchBlock(kept, UnitBytes(changes[i].dtype), block));
      CHECK((block == changes[i].after));
    }
  }
}

TEST_CASE("every truncation of a coded block is refused, and no flipped bit gives a delta that does not fit") {
  for (const Codec& codec : CodecTable()) {
    CAPTURE(codec.name);
    for (unsigned round = 0; round < static_cast<unsigned>(Rounds(220)); ++round) {
      const uint64_t seed = 9000 + round;
      CAPTURE(seed);
      Dice dice(seed);
      const auto dtype = dice.OneIn(2) ? Dtype::kBF16 : static_cast<Dtype>(dice.Below(kDtypeCount));
      CheckDamage(RandomBlockChange(dice, dtype, 1 + dice.Below(400)), codec, dice, 300);
    }
  }
}

TEST_CASE("the chosen codec is never longer than the block at any level, and its check passes") {
  for (unsigned round = 0; round < static_cast<unsigned>(Rounds(500)); ++round) {
    const uint64_t seed = 12000 + round;
    CAPTURE(seed);
    Dice dice(seed);
    const auto dtype = static_cast<Dtype>(round % kDtypeCount);
    const MadeChange change = RandomBlockChange(dice, dtype, 1 + dice.Below(1000));
    for (const Level level : {Level::kFast, Level::kDefault, Level::kMax}) {
      Bytes coded = {'x'};
      const uint8_t id = EncodeBlock(change.View(), level, nullptr, coded);
      CHECK(coded[0] == 'x');
      CHECK(coded.size() - 1 <= change.after.size());
      REQUIRE_OK(CheckDecodes(change.View(), id, ByteSpan(coded).subspan(1)));
    }
  }
}

TEST_CASE("a forced codec that cannot say a block gives way to one that can") {
  Dice dice(62);
  std::vector<MadeChange> changes;
  for (int i = 0; i < Rounds(300); ++i) {
    changes.push_back(RandomBlockChange(dice, static_cast<Dtype>(dice.Below(kDtypeCount)), 1 + dice.Below(500)));
  }
  for (const Codec& codec : CodecTable()) {
    CAPTURE(codec.name);
    for (const MadeChange& change : changes) {
      Bytes alone, coded;
      const bool can = codec.encode(change.View(), Level::kDefault, alone);
      const uint8_t id = EncodeBlock(change.View(), Level::kDefault, &codec, coded);
      if (can) {
        CHECK(id == codec.id);
        CHECK(coded == alone);
      } else {
        CHECK(id != codec.id);
        CHECK(coded.size() <= change.after.size());
      }
      REQUIRE_OK(CheckDecodes(change.View(), id, coded));
    }
  }
}

TEST_CASE("a listed element whose value did not change is kept, or the codec says that it cannot") {
  MadeChange change;
  change.before = Bytes(4000, 0x3c);
  change.after = change.before;
  change.after[100] ^= 1;
  change.delta.positions = {7, 50, 1999};  // only the second changed
  for (const uint32_t position : change.delta.positions) {
    change.delta.values.insert(change.delta.values.end(), {change.after[position * 2], change.after[position * 2 + 1]});
  }
  for (const Codec& codec : CodecTable()) {
    CAPTURE(codec.name);
    const bool said = Survives(change, codec);
    CHECK(said == (codec.name != "classes" && codec.name != "adaptive"));
    Bytes coded;
    const uint8_t id = EncodeBlock(change.View(), Level::kMax, &codec, coded);
    REQUIRE_OK(CheckDecodes(change.View(), id, coded));
  }
}

}  // namespace
}  // namespace wdelta
