// The names inside a plain delta, as far as writer and reader share them. wdelta-format(5) is the authority.
//
// A plain delta is an ordinary safetensors file. For each changed tensor NAME it holds NAME.indices and NAME.values,
// the metadata that Hugging Face's sparse patches have, and, under the reserved prefix, what it takes to rebuild the
// files.
#pragma once

#include "pack/container.h"

namespace wdelta {

inline constexpr std::string_view kReservedPrefix = "wdelta.";
inline constexpr std::string_view kIndicesEnding = ".indices", kValuesEnding = ".values";
inline constexpr std::string_view kPlainLayout = "wdelta.layout", kPlainIndex = "wdelta.index",
                                  kPlainBlocks = "wdelta.blocks";
inline constexpr std::string_view kPlainNew = "wdelta.new/";    // + name: a tensor that has no base, whole
inline constexpr std::string_view kPlainFile = "wdelta.file/";  // + path: a companion, or the header of a shard
inline constexpr std::string_view kPlainVersionKey = "wdelta.version";

// Indices are I32 while they fit.
inline Dtype IndexDtype(uint64_t units) {
  return units >= uint64_t{1} << 31 ? Dtype::kI64 : Dtype::kI32;
}

// Values have the tensor's type; those of a type smaller than a byte are the bytes that hold them.
inline Dtype ValueDtype(Dtype dtype) {
  return DtypeBits(dtype) < 8 ? Dtype::kU8 : dtype;
}

}  // namespace wdelta
