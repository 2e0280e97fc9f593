// Codecs turn what changed in a block into few bytes, and back. This header is what the room hands on; it brings along
// what the room received.
//
// A codec may use the old block as side information, because whoever decodes has it. Decoding needs the coded bytes and
// that old block, nothing else, so blocks can be decoded in any order. Codecs are rows of one table (codec_table.cc);
// wdelta-format(5) describes each.
#pragma once

#include <span>
#include <string_view>

#include "codec/byte_stream.h"
#include "codec/fold.h"
#include "codec/zstd_frame.h"
#include "delta/tensor_delta.h"

namespace wdelta {

// A block on its way out. `old_block` is empty if there is none: then the delta is `whole`.
struct BlockChange {
  ByteSpan old_block, new_block;
  const BlockDelta& delta;  // of the two
  Dtype dtype = Dtype::kU8;
  uint64_t columns = 1, first_unit = 0;  // length of a row of the tensor, and where in the tensor the block begins
};

// Whether each listed position has a new value: the codecs that say steps have no word for a step of nothing.
bool EveryListedChanged(const BlockChange& change);

// What a decoder knows before it looks at the coded bytes. `old_block` is empty if the block has none.
struct BlockFrame {
  ByteSpan old_block;
  size_t new_bytes = 0;
  Dtype dtype = Dtype::kU8;
};

struct Codec {
  uint8_t id;  // in the pack
  std::string_view name;
  // Appends the coded block to `out`, or returns false, having appended nothing, if it cannot say this block.
  bool (*encode)(const BlockChange& change, Level level, Bytes& out);
  // Fails with kIntegrity for bytes that mean no delta of this block. Never allocates much more than a block, whatever
  // the bytes claim.
  Result<> (*decode)(ByteSpan coded, const BlockFrame& frame, BlockDelta& delta);
};

std::span<const Codec> CodecTable();
const Codec* FindCodec(uint8_t id);
const Codec* FindCodec(std::string_view name);

// Codes a block with `forced`, or with the codec that gives the fewest bytes; appends to `out` and returns the codec's
// id. A forced codec that cannot say the block gives way to the others.
uint8_t EncodeBlock(const BlockChange& change, Level level, const Codec* forced, Bytes& out);

// kRefused for a codec that this version does not know.
Result<> DecodeBlock(uint8_t codec_id, ByteSpan coded, const BlockFrame& frame, BlockDelta& delta);

// Decodes `coded` and compares with what went in; kIntegrity if a codec did not give back what it got.
Result<> CheckDecodes(const BlockChange& change, uint8_t codec_id, ByteSpan coded);

// The rows, each with a file of its own.
extern const Codec kRawCodec, kZstdCodec, kGapsCodec, kClassesCodec, kPlanesCodec, kAdaptiveCodec;

}  // namespace wdelta
