// Zstandard frames of known length. The home of <zstd.h>.
#pragma once

#include <string>

#include "base/bytes.h"

namespace wdelta {

// Appends one frame that holds `data` to `out`. The same bytes on every machine with the same zstd.
void ZstdCompress(ByteSpan data, int level, Bytes& out);

// Fills all of `out` from exactly one frame. Needs no memory by what the frame claims. Fails with kIntegrity.
Result<> ZstdDecompress(ByteSpan frame, MutableByteSpan out);

std::string ZstdVersion();  // "1.5.4"

}  // namespace wdelta
