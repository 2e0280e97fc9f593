// The scan of class_scan.h in AVX2, for the processors that have it. Finds what the portable form finds.
#pragma once

#include "codec/class_scan.h"

namespace wdelta {

bool HasAvx2();  // and the bit instructions that came with it; where this is false the others must not be called

ClassCounts RankByAvx2(const ScanInput& in, std::span<const uint32_t> positions, ClassRanks& ranks);
ClassCounts SelectByAvx2(const ScanInput& in, const ClassRanks& ranks, uint32_t complement, uint64_t most,
                         BlockDelta& found);

}  // namespace wdelta
