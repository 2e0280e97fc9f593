#include <set>

#include "codec/codec.h"
#include "support/expect.h"
#include "support/random_checkpoint.h"

namespace wdelta {
namespace {

const Dtype kEachWidth[] = {Dtype::kF4,  Dtype::kU8,  Dtype::kBF16, Dtype::kF16,
                            Dtype::kF32, Dtype::kI32, Dtype::kF64,  Dtype::kC64};

struct Change {
  Bytes before, after;  // before: empty if there is none
  BlockDelta delta;
  Dtype dtype = Dtype::kBF16;
  BlockChange View() const { return {before, after, delta, dtype}; }
  BlockFrame Frame() const { return {before, after.size(), dtype}; }
};

Change RandomChange(Dice& dice, Dtype dtype, size_t units) {
  const unsigned unit = UnitBytes(dtype);
  Change change;
  change.dtype = dtype;
  change.after = RandomBytes(dice, units * unit);
  if (dice.OneIn(5)) {
    change.delta.whole = true;
    // Its values stay empty, as on the way out: `after` has them.
    return change;
  }
  change.before = change.after;
  const uint64_t density = dice.Pick(std::vector<uint64_t>{1, 2, 10, 300, 5000});
  for (size_t i = 0; i < units; ++i) {
    if (!dice.OneIn(density)) continue;
    uint8_t* at = change.before.data() + i * unit;
    if (dice.OneIn(3)) {
      for (unsigned b = 0; b < unit; ++b) at[b] = static_cast<uint8_t>(dice.Bits());
    } else {
      *at = static_cast<uint8_t>(*at + (dice.OneIn(2) ? 1 : 255));
    }
  }
  CompareBlock(change.before, change.after, unit, change.delta);
  return change;
}

// What the coded bytes make of the old block.
Result<Bytes> Decoded(const Change& change, const Codec& codec, ByteSpan coded) {
  BlockDelta delta;
  WD_TRY(codec.decode(coded, change.Frame(), delta));
  Bytes block(change.before.begin(), change.before.end());
  block.resize(change.after.size());
  WD_TRY(PatchBlock(delta, UnitBytes(change.dtype), block));
  return block;
}

TEST_CASE("every codec gives every block back that it agrees to say") {
  Dice dice(11);
  for (const Codec& codec : CodecTable()) {
    CAPTURE(codec.name);
    int said = 0;
    for (const Dtype dtype : kEachWidth) {
      for (int round = 0; round < 40; ++round) {
        const Change change = RandomChange(dice, dtype, 1 + dice.Below(round == 0 ? 20000 : 600));
        Bytes coded = {'x'};  // what is there already stays
        const Level level = dice.Pick(std::vector{Level::kFast, Level::kDefault, Level::kMax});
        if (!codec.encode(change.View(), level, coded)) {
          CHECK(coded == Bytes{'x'});
          continue;
        }
        ++said;
        CHECK(coded[0] == 'x');
        const auto block = Decoded(change, codec, ByteSpan(coded).subspan(1));
        REQUIRE_OK(block);
        CHECK(*block == change.after);
      }
    }
    CHECK(said > 0);
  }
}

TEST_CASE("the chosen codec gives a block back, is never much longer than the block, and passes its own check") {
  Dice dice(12);
  for (int round = 0; round < 400; ++round) {
    const Change change =
        RandomChange(dice, dice.Pick(std::vector(std::begin(kEachWidth), std::end(kEachWidth))), 1 + dice.Below(900));
    Bytes coded;
    const uint8_t id = EncodeBlock(change.View(), Level::kDefault, nullptr, coded);
    CHECK(coded.size() <= change.after.size());
    REQUIRE_OK(CheckDecodes(change.View(), id, coded));
    BlockDelta delta;
    REQUIRE_OK(DecodeBlock(id, coded, change.Frame(), delta));
  }
}

TEST_CASE("a forced codec is used where it can speak, and gives way where it cannot") {
  Dice dice(13);
  Change change = RandomChange(dice, Dtype::kBF16, 3000);
  while (change.delta.whole || change.delta.positions.empty()) change = RandomChange(dice, Dtype::kBF16, 3000);
  for (const Codec& codec : CodecTable()) {
    Bytes coded;
    CHECK(EncodeBlock(change.View(), Level::kDefault, &codec, coded) == codec.id);
  }
  Change whole;
  whole.after = Bytes(100, 1);
  whole.delta.whole = true;
  Bytes coded;
  CHECK(EncodeBlock(whole.View(), Level::kDefault, FindCodec("gaps"), coded) != FindCodec("gaps")->id);
}

TEST_CASE("ids and names of codecs are unique, and each is found by both") {
  std::set<uint8_t> ids;
  std::set<std::string_view> names;
  for (const Codec& codec : CodecTable()) {
    CHECK(ids.insert(codec.id).second);
    CHECK(names.insert(codec.name).second);
    CHECK(codec.id < 0x80);  // the highest bit of its byte in a pack says something else
    REQUIRE(FindCodec(codec.id) != nullptr);
    CHECK(FindCodec(codec.id)->name == codec.name);
    CHECK(FindCodec(codec.name)->id == codec.id);
  }
  CHECK(FindCodec("none of them") == nullptr);
  BlockDelta delta;
  CHECK_FAILS(DecodeBlock(99, {}, {}, delta), ErrorKind::kRefused, "unknown codec 99");
}

TEST_CASE("coded bytes that are cut short, flipped or random never decode to something that does not fit") {
  Dice dice(14);
  for (const Codec& codec : CodecTable()) {
    CAPTURE(codec.name);
    for (int round = 0; round < 60; ++round) {
      const Change change =
          RandomChange(dice, dice.Pick(std::vector(std::begin(kEachWidth), std::end(kEachWidth))), 1 + dice.Below(300));
      Bytes coded;
      if (!codec.encode(change.View(), Level::kDefault, coded)) continue;
      for (int damage = 0; damage < 30; ++damage) {
        Bytes bad = coded;
        if (damage % 3 == 0) bad.resize(dice.Below(bad.size() + 1));
        if (damage % 3 == 1 && !bad.empty()) bad[dice.Below(bad.size())] ^= static_cast<uint8_t>(1 << dice.Below(8));
        if (damage % 3 == 2) bad = RandomBytes(dice, dice.Below(40));
        const auto block = Decoded(change, codec, bad);
        if (block.ok()) CHECK(block->size() == change.after.size());
        if (!block.ok()) CHECK(block.error().kind == ErrorKind::kIntegrity);
      }
    }
  }
}

TEST_CASE("a codec that needs an old block refuses to decode without one") {
  Dice dice(15);
  Change change = RandomChange(dice, Dtype::kBF16, 1000);
  while (change.delta.whole) change = RandomChange(dice, Dtype::kBF16, 1000);
  Bytes coded;
  const Codec& gaps = *FindCodec("gaps");
  REQUIRE(gaps.encode(change.View(), Level::kDefault, coded));
  BlockDelta delta;
  CHECK_FAILS(gaps.decode(coded, {{}, change.after.size(), Dtype::kBF16}, delta), ErrorKind::kIntegrity, "old block");
}

TEST_CASE("positions far apart and at both ends of a block survive") {
  for (const Codec& codec : CodecTable()) {
    CAPTURE(codec.name);
    Change change;
    change.before = Bytes(kBlockBytes, 1);
    change.after = change.before;
    for (const size_t at :
         {size_t{0}, size_t{254 * 2}, size_t{255 * 2 + 254 * 2}, size_t{kBlockBytes / 2}, size_t{kBlockBytes - 2}}) {
      change.after[at] = 9;
    }
    CompareBlock(change.before, change.after, 2, change.delta);
    REQUIRE(change.delta.positions.size() == 5);
    Bytes coded;
    if (!codec.encode(change.View(), Level::kDefault, coded)) continue;
    const auto block = Decoded(change, codec, coded);
    REQUIRE_OK(block);
    CHECK(*block == change.after);
  }
}

}  // namespace
}  // namespace wdelta
