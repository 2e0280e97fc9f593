#include "codec/zstd_frame.h"

#include <zstd.h>

#include <cstdlib>
#include <memory>

namespace wdelta {

namespace {

// One of each for every thread: making them costs more than coding a small block.
ZSTD_CCtx* Compressor() {
  thread_local const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  if (!context) std::abort();  // out of memory
  return context.get();
}

ZSTD_DCtx* Decompressor() {
  thread_local const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (!context) std::abort();
  return context.get();
}

}  // namespace

void ZstdCompress(ByteSpan data, int level, Bytes& out) {
  const size_t at = out.size();
  out.resize(at + ZSTD_compressBound(data.size()));
  const size_t length =
      ZSTD_compressCCtx(Compressor(), out.data() + at, out.size() - at, data.data(), data.size(), level);
  if (ZSTD_isError(length)) std::abort();  // the bound is enough: only memory can fail
  out.resize(at + length);
}

Result<> ZstdDecompress(ByteSpan frame, MutableByteSpan out) {
  // A first frame as long as the input: no second one, nothing behind it, and no skippable frame in front.
  if (ZSTD_getFrameContentSize(frame.data(), frame.size()) != out.size() ||
      ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size()) {
    return Error{ErrorKind::kIntegrity, "not one zstd frame of " + std::to_string(out.size()) + " bytes"};
  }
  const size_t length = ZSTD_decompressDCtx(Decompressor(), out.data(), out.size(), frame.data(), frame.size());
  if (ZSTD_isError(length)) return Error{ErrorKind::kIntegrity, std::string("zstd: ") + ZSTD_getErrorName(length)};
  if (length != out.size()) return Error{ErrorKind::kIntegrity, "zstd frame is shorter than it says"};
  return {};
}

std::string ZstdVersion() {
  return ZSTD_versionString();
}

}  // namespace wdelta
