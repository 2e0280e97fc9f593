// Deltas for fuzzing: real ones whose compressed parts stand open, so that a flipped bit is a flipped bit of the index
// and not of a zstd frame, and a way to make checksums right again after such a flip.
#pragma once

#include "core/bytes.h"
#include "support/random_checkpoint.h"

namespace wdelta {

// Writes the checkpoints "a" and "b", the packs "ab.wdp" and "anchor.wdp" and the plain delta "ab.safetensors".
void WriteSampleDeltas(const ScratchFolder& folder);

// The same pack with layout, index and places as raw streams.
Bytes LoosenPack(ByteSpan pack);
Bytes LoosenPlainDelta(Bytes plain);

// Makes every checksum of a pack right, as far as its sections can be told: of blocks, of the index, of the end.
void SealPack(MutableByteSpan pack);

}  // namespace wdelta
