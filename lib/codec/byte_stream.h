// A run of bytes in the smallest of three forms, with its lengths: the brick that codecs and indexes are made of.
//   varint length of the content, u8 form, then
//     form 0, raw:       the content
//     form 1, one byte:  that byte, repeated
//     form 2, zstd:      varint length of the frame, the frame
// An empty content has form 0.
#pragma once

#include "core/bytes.h"

namespace wdelta {

void PutByteStream(ByteSpan content, int zstd_level, Bytes& out);

// Reads one stream. kIntegrity if its content has more than `limit` bytes, or is malformed.
Result<Bytes> TakeByteStream(ByteReader& reader, uint64_t limit);

}  // namespace wdelta
