// Which of many things are special, as bits: the brick of the codecs that say what changed by saying where.
#pragma once

#include <span>
#include <vector>

#include "codec/bit_stream.h"

namespace wdelta {

inline constexpr unsigned kMaxRice = 23;

// The best Rice parameter for m events that chance spread among n places; 0 < m <= n.
unsigned RiceParameter(uint64_t n, uint64_t m);

// Which of n things are special: their number in as many bits as n has, then the gaps between them or, if they are the
// majority, between the others, by RiceParameter. Nothing if n is 0.
void PutEvents(BitWriter& out, uint64_t n, std::span<const uint32_t> events);
Result<std::vector<uint32_t>> TakeEvents(BitReader& in, uint64_t n);

// Changes often come in clusters: rows of an embedding that nobody used stay idle. So elements can be cut into runs of
// 64, 128 ... 4096, with a flag for each run in which anything changed, if that pays: three bits, 0 for no runs or
// log2(run) - 5, and the flags as events. Both return a word for each 64 elements: ones if its run is active, else
// zero.
std::vector<uint64_t> PutActiveRuns(BitWriter& out, uint64_t units, std::span<const uint32_t> positions);
Result<std::vector<uint64_t>> TakeActiveRuns(BitReader& in, uint64_t units);

}  // namespace wdelta
