// The two codecs that say a whole new block and need no old one.
#include "codec/codec.h"
#include "codec/zstd_frame.h"

namespace wdelta {

namespace {

bool EncodeRaw(const BlockChange& change, Level, Bytes& out) {
  out.insert(out.end(), change.new_block.begin(), change.new_block.end());
  return true;
}

Result<> DecodeRaw(ByteSpan coded, const BlockFrame& frame, BlockDelta& delta) {
  if (coded.size() != frame.new_bytes) return Error{ErrorKind::kIntegrity, "raw block of the wrong length"};
  delta.Clear();
  delta.whole = true;
  delta.values.assign(coded.begin(), coded.end());
  return {};
}

bool EncodeZstd(const BlockChange& change, Level level, Bytes& out) {
  ZstdCompress(change.new_block, level == Level::kMax ? 9 : 1, out);
  return true;
}

Result<> DecodeZstd(ByteSpan coded, const BlockFrame& frame, BlockDelta& delta) {
  delta.Clear();
  delta.whole = true;
  delta.values.resize(frame.new_bytes);
  return ZstdDecompress(coded, delta.values);
}

}  // namespace

const Codec kRawCodec{0, "raw", EncodeRaw, DecodeRaw};
const Codec kZstdCodec{1, "zstd", EncodeZstd, DecodeZstd};

}  // namespace wdelta
