// How much room a folder has.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"

namespace wdelta {

// Whether `path` lies on a file system that is memory: nothing there is worth an fsync.
bool IsInMemory(const std::string& path);

// What may still be written below `folder`; where that is memory, the limit of the control group counts, too.
Result<uint64_t> FreeBytes(const std::string& folder);

// The sum, or the largest number if it is more than that: what a store claims must not wrap around.
inline uint64_t SumOrMost(uint64_t a, uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

// kLocalIo, with `hint`, unless `bytes` more fit.
Result<> CheckSpace(const std::string& folder, uint64_t bytes, const std::string& hint);

}  // namespace wdelta
