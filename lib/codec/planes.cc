// All elements of a block, cut into planes of bytes: the lowest byte of each, then the next, and so on. Bytes of one
// kind next to each other compress, bytes of different kinds do not: exponents are few, mantissas are noise.
//
// Against an old block the elements are steps, folded as in gaps.cc: for changes that are everywhere but small, such as
// fp32 weights and quantization scales. Without one, or against an unrelated one, they are the new elements, turned
// left by one bit, which brings the exponent of bf16 and fp32 into a byte of its own and the sign to the mantissa.
#include <bit>

#include "codec/codec.h"

namespace wdelta {

namespace {

constexpr uint8_t kNewElements = 0, kSteps = 1;

template <class T>
Bytes CutIntoPlanes(const BlockChange& change, uint8_t mode) {
  const size_t count = change.new_block.size() / sizeof(T);
  Bytes planes(change.new_block.size());
  for (size_t i = 0; i < count; ++i) {
    const T value = Load<T>(change.new_block.data() + i * sizeof(T));
    const T element = mode == kSteps ? Fold<T>(static_cast<T>(value - Load<T>(change.old_block.data() + i * sizeof(T))))
                                     : std::rotl(value, sizeof(T) > 1 ? 1 : 0);
    for (size_t plane = 0; plane < sizeof(T); ++plane) {
      planes[plane * count + i] = static_cast<uint8_t>(element >> (8 * plane));
    }
  }
  return planes;
}

template <class T>
void PutTogether(ByteSpan planes, const BlockFrame& frame, uint8_t mode, MutableByteSpan out) {
  const size_t count = out.size() / sizeof(T);
  for (size_t i = 0; i < count; ++i) {
    T element = 0;
    for (size_t plane = 0; plane < sizeof(T); ++plane) {
      element = static_cast<T>(element | static_cast<T>(T{planes[plane * count + i]} << (8 * plane)));
    }
    const T value = mode == kSteps
                        ? static_cast<T>(Load<T>(frame.old_block.data() + i * sizeof(T)) + Unfold<T>(element))
                        : std::rotr(element, sizeof(T) > 1 ? 1 : 0);
    Store(out.data() + i * sizeof(T), value);
  }
}

bool EncodePlanes(const BlockChange& change, Level level, Bytes& out) {
  const unsigned unit = UnitBytes(change.dtype);
  const int zstd_level = level == Level::kMax ? 9 : 1;
  const size_t at = out.size();
  for (const uint8_t mode : {kNewElements, kSteps}) {
    if (mode == kSteps && change.old_block.size() != change.new_block.size()) continue;
    const Bytes planes = WithUnit(unit, [&]<class T>(T) { return CutIntoPlanes<T>(change, mode); });
    const size_t length = planes.size() / unit;
    Bytes coded = {mode};
    for (size_t plane = 0; plane < unit; ++plane) {
      PutByteStream(ByteSpan(planes).subspan(plane * length, length), zstd_level, coded);
    }
    if (mode == kSteps && coded.size() >= out.size() - at) continue;
    out.resize(at);
    out.insert(out.end(), coded.begin(), coded.end());
  }
  return true;
}

Result<> DecodePlanes(ByteSpan coded, const BlockFrame& frame, BlockDelta& delta) {
  ByteReader in(coded);
  WD_ASSIGN(const uint8_t mode, in.Fixed<uint8_t>());
  if (mode > kSteps) return Error{ErrorKind::kIntegrity, "unknown kind of planes"};
  if (mode == kSteps && frame.old_block.size() != frame.new_bytes) {
    return Error{ErrorKind::kIntegrity, "coded against an old block that is not there"};
  }
  const unsigned unit = UnitBytes(frame.dtype);
  const size_t length = frame.new_bytes / unit;
  Bytes planes;
  planes.reserve(frame.new_bytes);
  for (size_t plane = 0; plane < unit; ++plane) {
    WD_ASSIGN(const Bytes bytes, TakeByteStream(in, length));
    if (bytes.size() != length) return Error{ErrorKind::kIntegrity, "plane of the wrong length"};
    planes.insert(planes.end(), bytes.begin(), bytes.end());
  }
  WD_TRY(in.ExpectEnd());
  delta.Clear();
  delta.whole = true;
  delta.values.resize(frame.new_bytes);
  WithUnit(unit, [&]<class T>(T) { PutTogether<T>(planes, frame, mode, delta.values); });
  return {};
}

}  // namespace

const Codec kPlanesCodec{4, "planes", EncodePlanes, DecodePlanes};

}  // namespace wdelta
