#include <algorithm>

#include "codec/codec.h"

namespace wdelta {

std::span<const Codec> CodecTable() {
  static const Codec kTable[] = {kRawCodec, kZstdCodec, kGapsCodec, kClassesCodec, kPlanesCodec, kAdaptiveCodec};
  return kTable;
}

const Codec* FindCodec(uint8_t id) {
  for (const Codec& codec : CodecTable()) {
    if (codec.id == id) return &codec;
  }
  return nullptr;
}

const Codec* FindCodec(std::string_view name) {
  for (const Codec& codec : CodecTable()) {
    if (codec.name == name) return &codec;
  }
  return nullptr;
}

bool EveryListedChanged(const BlockChange& change) {
  return WithUnit(UnitBytes(change.dtype), [&]<class T>(T) {
    bool every = true;
    for (size_t i = 0; i < change.delta.positions.size(); ++i) {
      const T old_value = Load<T>(change.old_block.data() + size_t{change.delta.positions[i]} * sizeof(T));
      every &= Load<T>(change.delta.values.data() + i * sizeof(T)) != old_value;
    }
    return every;
  });
}

uint8_t EncodeBlock(const BlockChange& change, Level level, const Codec* forced, Bytes& out) {
  const size_t at = out.size();
  if (forced && forced->encode(change, level, out)) return forced->id;
  // Where few elements changed, saying which wins by far; only when that comes out long, or cannot be said, is it worth
  // the time to try the whole block.
  uint8_t best = kRawCodec.id;
  Bytes trial;
  const auto consider = [&](const Codec& codec) {
    trial.clear();
    if (!codec.encode(change, level, trial)) return;
    if (best != kRawCodec.id && trial.size() >= out.size() - at) return;
    if (trial.size() >= change.new_block.size()) return;
    out.resize(at);
    out.insert(out.end(), trial.begin(), trial.end());
    best = codec.id;
  };
  consider(level == Level::kFast ? kGapsCodec : kClassesCodec);
  if (level == Level::kMax) consider(kAdaptiveCodec);
  if (best == kRawCodec.id || out.size() - at > change.new_block.size() / 8) {
    consider(kPlanesCodec);
    consider(kZstdCodec);
  }
  if (best == kRawCodec.id) kRawCodec.encode(change, level, out);
  return best;
}

Result<> DecodeBlock(uint8_t codec_id, ByteSpan coded, const BlockFrame& frame, BlockDelta& delta) {
  const Codec* codec = FindCodec(codec_id);
  if (!codec) {
    return Error{ErrorKind::kRefused, "unknown codec " + std::to_string(codec_id), "a newer wdelta may know it"};
  }
  return codec->decode(coded, frame, delta);
}

Result<> CheckDecodes(const BlockChange& change, uint8_t codec_id, ByteSpan coded) {
  BlockDelta again;
  WD_TRY(DecodeBlock(codec_id, coded, {change.old_block, change.new_block.size(), change.dtype}, again));
  bool same = false;
  if (!change.delta.whole && !again.whole) {  // the usual case, without touching the whole block
    same = again.positions == change.delta.positions && again.values == change.delta.values;
  } else {
    Bytes block(change.old_block.begin(), change.old_block.end());
    block.resize(change.new_block.size());
    WD_TRY(PatchBlock(again, UnitBytes(change.dtype), block));
    same = std::equal(block.begin(), block.end(), change.new_block.begin());
  }
  if (same) return {};
  return Error{ErrorKind::kIntegrity, "codec '" + std::string(FindCodec(codec_id)->name) +
                                          "' did not give a block back as it was; this is a fault of wdelta"};
}

}  // namespace wdelta
