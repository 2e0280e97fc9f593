#include "codec/byte_stream.h"

#include <algorithm>

#include "codec/zstd_frame.h"

namespace wdelta {

namespace {

constexpr uint8_t kRaw = 0, kOneByte = 1, kZstd = 2;

}  // namespace

void PutByteStream(ByteSpan content, int zstd_level, Bytes& out) {
  ByteWriter head;
  head.Varint(content.size());
  if (content.size() > 1 && std::equal(content.begin() + 1, content.end(), content.begin())) {
    head.Fixed(kOneByte);
    head.Fixed(content[0]);
    out.insert(out.end(), head.bytes().begin(), head.bytes().end());
    return;
  }
  Bytes frame;
  ZstdCompress(content, zstd_level, frame);
  ByteWriter frame_length;
  frame_length.Varint(frame.size());
  if (frame_length.bytes().size() + frame.size() >= content.size()) {
    head.Fixed(kRaw);
    head.Raw(content);
  } else {
    head.Fixed(kZstd);
    head.Raw(frame_length.bytes());
    head.Raw(frame);
  }
  out.insert(out.end(), head.bytes().begin(), head.bytes().end());
}

Result<Bytes> TakeByteStream(ByteReader& reader, uint64_t limit) {
  WD_ASSIGN(const uint64_t length, reader.Varint());
  if (length > limit) {
    return Error{ErrorKind::kIntegrity,
                 "stream of " + std::to_string(length) + " bytes where at most " + std::to_string(limit) + " can be"};
  }
  WD_ASSIGN(const uint8_t form, reader.Fixed<uint8_t>());
  if (form == kRaw) {
    WD_ASSIGN(const ByteSpan content, reader.Raw(length));
    return Bytes(content.begin(), content.end());
  }
  if (form == kOneByte) {
    WD_ASSIGN(const uint8_t value, reader.Fixed<uint8_t>());
    return Bytes(length, value);
  }
  if (form == kZstd) {
    WD_ASSIGN(const uint64_t frame_length, reader.Varint());
    WD_ASSIGN(const ByteSpan frame, reader.Raw(frame_length));
    Bytes content(length);
    WD_TRY(ZstdDecompress(frame, content));
    return content;
  }
  return Error{ErrorKind::kIntegrity, "unknown form of a stream"};
}

}  // namespace wdelta
