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

namespace {

constexpr size_t kPiece = 64 << 10;
constexpr int kMostWindowLog = 27;

Error FrameError(const std::string& why) {
  return Error{ErrorKind::kIntegrity, "zstd: " + why};
}

}  // namespace

struct ZstdSource::State {
  std::function<Result<size_t>(MutableByteSpan)> next;
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context{ZSTD_createDCtx(), ZSTD_freeDCtx};
  Bytes buffer = Bytes(kPiece);
  ZSTD_inBuffer in{nullptr, 0, 0};
  bool frame_ended = false, source_ended = false;

  Result<> Refill() {
    if (in.pos < in.size || source_ended) return {};
    WD_ASSIGN(const size_t length, next(buffer));
    source_ended = length == 0;
    in = {buffer.data(), length, 0};
    return {};
  }
};

ZstdSource::ZstdSource(std::function<Result<size_t>(MutableByteSpan)> next) : state_(std::make_unique<State>()) {
  if (!state_->context) std::abort();  // out of memory
  state_->next = std::move(next);
  ZSTD_DCtx_setParameter(state_->context.get(), ZSTD_d_windowLogMax, kMostWindowLog);
}
ZstdSource::ZstdSource(ZstdSource&&) noexcept = default;
ZstdSource::~ZstdSource() = default;

Result<> ZstdSource::Read(MutableByteSpan out) {
  ZSTD_outBuffer target{out.data(), out.size(), 0};
  while (target.pos < target.size) {
    if (state_->frame_ended) return FrameError("the frame ends too early");
    WD_TRY(state_->Refill());
    const size_t before = target.pos;
    const size_t hint = ZSTD_decompressStream(state_->context.get(), &target, &state_->in);
    if (ZSTD_isError(hint)) return FrameError(ZSTD_getErrorName(hint));
    state_->frame_ended = hint == 0;
    if (state_->source_ended && target.pos == before && !state_->frame_ended)
      return FrameError("the frame is cut short");
  }
  return {};
}

Result<> ZstdSource::ExpectEnd() {
  while (!state_->frame_ended) {
    WD_TRY(state_->Refill());
    uint8_t extra;
    ZSTD_outBuffer target{&extra, 1, 0};
    const size_t hint = ZSTD_decompressStream(state_->context.get(), &target, &state_->in);
    if (ZSTD_isError(hint)) return FrameError(ZSTD_getErrorName(hint));
    if (target.pos > 0) return FrameError("the frame is longer than it should be");
    state_->frame_ended = hint == 0;
    if (state_->source_ended && !state_->frame_ended) return FrameError("the frame is cut short");
  }
  WD_TRY(state_->Refill());
  if (state_->in.pos < state_->in.size) return FrameError("something follows the frame");
  return {};
}

struct ZstdSink::State {
  std::function<Result<>(ByteSpan)> take;
  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context{ZSTD_createCCtx(), ZSTD_freeCCtx};
  Bytes buffer = Bytes(kPiece);

  Result<> Run(ByteSpan data, ZSTD_EndDirective directive) {
    ZSTD_inBuffer in{data.data(), data.size(), 0};
    for (;;) {
      ZSTD_outBuffer out{buffer.data(), buffer.size(), 0};
      const size_t left = ZSTD_compressStream2(context.get(), &out, &in, directive);
      if (ZSTD_isError(left)) return Error{ErrorKind::kLocalIo, std::string("zstd: ") + ZSTD_getErrorName(left)};
      if (out.pos > 0) WD_TRY(take(ByteSpan(buffer).first(out.pos)));
      if (directive == ZSTD_e_end ? left == 0 : in.pos == in.size) return {};
    }
  }
};

ZstdSink::ZstdSink(int level, uint64_t content_bytes, std::function<Result<>(ByteSpan)> take)
    : state_(std::make_unique<State>()) {
  if (!state_->context) std::abort();  // out of memory
  state_->take = std::move(take);
  ZSTD_CCtx_setParameter(state_->context.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setPledgedSrcSize(state_->context.get(), content_bytes);
}
ZstdSink::~ZstdSink() = default;

Result<> ZstdSink::Write(ByteSpan data) {
  return state_->Run(data, ZSTD_e_continue);
}
Result<> ZstdSink::Finish() {
  return state_->Run({}, ZSTD_e_end);
}

std::string ZstdVersion() {
  return ZSTD_versionString();
}

}  // namespace wdelta
