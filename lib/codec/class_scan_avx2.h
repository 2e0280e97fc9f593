// The scan of class_scan.h in AVX2, for the processors that have it (HasAvx2). Finds what the portable form finds.
#pragma once

#include "codec/class_scan.h"
#include "core/processor.h"

namespace wdelta {

ClassCounts RankByAvx2(const ScanInput& in, std::span<const uint32_t> positions, ClassRanks& ranks);
ClassCounts SelectByAvx2(const ScanInput& in, const ClassRanks& ranks, uint32_t complement, uint64_t most,
                         BlockDelta& found);

}  // namespace wdelta
