// Positions as gaps, values as steps of the bit pattern, both in byte streams.
//
// A gap counts the untouched units before a changed one, so that neighbours cost a zero. A step is new minus old, taken
// as unsigned integers that wrap, folded so that small steps in either direction become small numbers (0, -1, 1, -2 ...
// become 0, 1, 2, 3 ...). The bytes of the steps are split into planes, lowest first: all but the lowest are nearly
// always zero and vanish.
#include "codec/codec.h"

namespace wdelta {

namespace {

constexpr uint8_t kGapEscape = 255;  // add 255 and read on

int ZstdLevel(Level level) {
  return level == Level::kFast ? 1 : level == Level::kDefault ? 1 : 9;
}

template <class T>
void Encode(const BlockChange& change, Level level, Bytes& out) {
  const std::vector<uint32_t>& positions = change.delta.positions;
  const size_t count = positions.size();
  Bytes gaps;
  gaps.reserve(count + count / 8);
  uint32_t next = 0;  // the first unit that a position may still name
  for (const uint32_t position : positions) {
    uint32_t gap = position - next;
    for (; gap >= kGapEscape; gap -= kGapEscape) gaps.push_back(kGapEscape);
    gaps.push_back(static_cast<uint8_t>(gap));
    next = position + 1;
  }
  Bytes planes(count * sizeof(T));
  for (size_t i = 0; i < count; ++i) {
    const T old_value = Load<T>(change.old_block.data() + positions[i] * sizeof(T));
    const T folded = Fold<T>(static_cast<T>(Load<T>(change.delta.values.data() + i * sizeof(T)) - old_value));
    for (size_t plane = 0; plane < sizeof(T); ++plane) {
      planes[plane * count + i] = static_cast<uint8_t>(folded >> (8 * plane));
    }
  }
  PutByteStream(gaps, ZstdLevel(level), out);
  for (size_t plane = 0; plane < sizeof(T); ++plane) {
    PutByteStream(ByteSpan(planes).subspan(plane * count, count), ZstdLevel(level), out);
  }
}

bool EncodeGaps(const BlockChange& change, Level level, Bytes& out) {
  if (change.old_block.size() != change.new_block.size() || change.delta.whole) return false;
  WithUnit(UnitBytes(change.dtype), [&]<class T>(T) { Encode<T>(change, level, out); });
  return true;
}

template <class T>
Result<> Decode(ByteSpan coded, const BlockFrame& frame, BlockDelta& delta) {
  const uint64_t units = frame.new_bytes / sizeof(T);
  ByteReader reader(coded);
  // No honest stream is longer: one byte a unit, whether it counts gaps or escapes.
  WD_ASSIGN(const Bytes gaps, TakeByteStream(reader, units));
  uint64_t next = 0;
  for (size_t i = 0; i < gaps.size(); ++i) {
    next += gaps[i];
    if (gaps[i] == kGapEscape) continue;
    if (next >= units) return Error{ErrorKind::kIntegrity, "position outside the block"};
    delta.positions.push_back(static_cast<uint32_t>(next++));
  }
  if (!gaps.empty() && gaps.back() == kGapEscape) return Error{ErrorKind::kIntegrity, "gaps end in an escape"};
  const size_t count = delta.positions.size();
  std::vector<T> folded(count, 0);
  for (size_t plane = 0; plane < sizeof(T); ++plane) {
    WD_ASSIGN(const Bytes bytes, TakeByteStream(reader, count));
    if (bytes.size() != count) return Error{ErrorKind::kIntegrity, "as many steps as gaps expected"};
    for (size_t i = 0; i < count; ++i)
      folded[i] = static_cast<T>(folded[i] | static_cast<T>(T{bytes[i]} << (8 * plane)));
  }
  WD_TRY(reader.ExpectEnd());
  delta.values.resize(count * sizeof(T));
  for (size_t i = 0; i < count; ++i) {
    const T old_value = Load<T>(frame.old_block.data() + size_t{delta.positions[i]} * sizeof(T));
    Store(delta.values.data() + i * sizeof(T), static_cast<T>(old_value + Unfold<T>(folded[i])));
  }
  return {};
}

Result<> DecodeGaps(ByteSpan coded, const BlockFrame& frame, BlockDelta& delta) {
  delta.Clear();
  if (frame.old_block.size() != frame.new_bytes) {
    return Error{ErrorKind::kIntegrity, "coded against an old block that is not there"};
  }
  return WithUnit(UnitBytes(frame.dtype), [&]<class T>(T) { return Decode<T>(coded, frame, delta); });
}

}  // namespace

const Codec kGapsCodec{2, "gaps", EncodeGaps, DecodeGaps};

}  // namespace wdelta
