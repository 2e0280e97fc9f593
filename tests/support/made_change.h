// Changes of one block, made for tests of codecs.
#pragma once

#include "codec/codec.h"
#include "support/random_checkpoint.h"

namespace wdelta {

struct MadeChange {
  Bytes before, after;  // before: empty if there is none
  BlockDelta delta;
  Dtype dtype = Dtype::kBF16;
  uint64_t columns = 1, first_unit = 0;

  BlockChange View() const { return {before, after, delta, dtype, columns, first_unit}; }
  BlockFrame Frame() const { return {before, after.size(), dtype}; }
};

// From two blocks, with every changed unit listed, however many there are.
MadeChange ListedChange(Bytes before, Bytes after, Dtype dtype);
// From elements of two bytes.
MadeChange ListedChange(const std::vector<uint16_t>& before, const std::vector<uint16_t>& after, Dtype dtype);

// Any density from 0.01 % to all, changes that cluster or do not, steps from one to anything, values that wrap; at
// times without an old block, or with a delta that is whole.
MadeChange RandomBlockChange(Dice& dice, Dtype dtype, size_t units);

// How many rounds of a random test to run: fewer where a sanitizer makes each slow.
int Rounds(int usual);

// What coded bytes make of the old block of a change.
Result<Bytes> DecodedBlock(const MadeChange& change, const Codec& codec, ByteSpan coded);

// Codes the change twice and decodes it: the same bytes each time, the same block. False if the codec cannot say it;
// then it appended nothing.
bool Survives(const MadeChange& change, const Codec& codec, Level level = Level::kDefault);

// Decodes damaged forms of a coded block: every truncation, and flipped bits, all of them if there are at most `flips`.
// Each must fail with kIntegrity or fit the block.
void CheckDamage(const MadeChange& change, const Codec& codec, Dice& dice, size_t flips);

}  // namespace wdelta
