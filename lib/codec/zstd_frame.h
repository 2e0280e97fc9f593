// Zstandard frames of known length. The home of <zstd.h>.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/bytes.h"

namespace wdelta {

// Appends one frame that holds `data` to `out`. The same bytes on every machine with the same zstd.
void ZstdCompress(ByteSpan data, int level, Bytes& out);

// Fills all of `out` from exactly one frame. Needs no memory by what the frame claims. Fails with kIntegrity.
Result<> ZstdDecompress(ByteSpan frame, MutableByteSpan out);

// One frame that is read from front to back, and whose bytes are taken piece by piece: a tensor of another system may
// be one frame of gigabytes. Needs the memory of a window of at most 128 MiB.
class ZstdSource {
 public:
  // `next` gives more of the frame, at most as much as fits into its argument: how many bytes; 0 at the end.
  explicit ZstdSource(std::function<Result<size_t>(MutableByteSpan buffer)> next);
  ZstdSource(ZstdSource&&) noexcept;
  ~ZstdSource();
  // Fills all of `out`. kIntegrity if the frame ends before, or is none.
  Result<> Read(MutableByteSpan out);
  // kIntegrity unless the frame and what it came from end here.
  Result<> ExpectEnd();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The other direction: one frame of `content_bytes`, which stand in its header, given piece by piece.
class ZstdSink {
 public:
  ZstdSink(int level, uint64_t content_bytes, std::function<Result<>(ByteSpan frame)> take);
  ~ZstdSink();
  Result<> Write(ByteSpan data);
  Result<> Finish();  // after all of them

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string ZstdVersion();  // "1.5.4"

}  // namespace wdelta
