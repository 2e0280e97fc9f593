// Any bytes for each codec: as coded blocks, whose decoding must fit or fail, and as two blocks, whose coding must give
// back the second. WDELTA_FUZZ_CODEC=NAME in the environment makes it a target for that codec's decoder alone.
//
// An input begins with what a decoder is told: a byte that picks the codec and the direction, a byte for the dtype, two
// for the length of the block, one that says how many of the bytes after it, repeated, make the old block. The rest is
// the coded block, or the two blocks.
#include <algorithm>
#include <cstdlib>
#include <random>

#include "codec/codec.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using namespace wdelta;

constexpr size_t kHead = 5, kMaxPattern = 16;
constexpr uint8_t kEncode = 0x80, kWithoutOld = 0x40, kListAll = 0x20;

const Codec* TheCodec() {
  static const Codec* const kCodec = [] {
    const char* name = std::getenv("WDELTA_FUZZ_CODEC");
    const Codec* codec = name ? FindCodec(std::string_view(name)) : nullptr;
    if (name && !codec) std::abort();
    return codec;
  }();
  return kCodec;
}

// Lengths are short, with a few that have many runs.
size_t BlockBytes(uint16_t picked, Dtype dtype) {
  const unsigned unit = UnitBytes(dtype), bytes = picked & (picked >> 12 == 15 ? 0xfff : 0xff);
  return bytes / unit * unit;
}

// Repeats the pattern, a little higher each time, so that neighbours differ.
Bytes OldBlock(ByteSpan pattern, size_t length) {
  Bytes block(length, 0x3c);
  for (size_t i = 0; i < length && !pattern.empty(); ++i) {
    block[i] = static_cast<uint8_t>(pattern[i % pattern.size()] + (i / pattern.size() & 3));
  }
  return block;
}

void Decode(const Codec& codec, Dtype dtype, size_t length, ByteSpan pattern, ByteSpan coded, bool has_old) {
  Bytes block = OldBlock(pattern, length);
  BlockDelta delta;
  const BlockFrame frame{has_old ? ByteSpan(block) : ByteSpan(), length, dtype};
  if (!codec.decode(coded, frame, delta).ok()) return;
  if (!PatchBlock(delta, UnitBytes(dtype), block).ok()) std::abort();  // a decoder vouches for what it returns
}

void EncodeAndDecode(const Codec& codec, Dtype dtype, ByteSpan data, Level level, uint8_t columns, bool list_all) {
  const unsigned unit = UnitBytes(dtype);
  const size_t length = data.size() / 2 / unit * unit;
  if (length == 0) return;
  const ByteSpan old_block = data.first(length), new_block = data.subspan(length, length);
  BlockDelta delta;
  list_all ? ListChanges(old_block, new_block, unit, delta) : CompareBlock(old_block, new_block, unit, delta);
  const BlockChange change{old_block, new_block, delta, dtype, columns, columns / 2u};
  Bytes coded;
  const uint8_t id = EncodeBlock(change, level, &codec, coded);
  if (!CheckDecodes(change, id, coded).ok()) std::abort();
}

// An input whose coded block is a real one; empty if the codec cannot say what came up.
Bytes HonestInput(const Codec& codec, unsigned seed) {
  std::minstd_rand dice(seed);
  Bytes input(kHead);
  for (uint8_t& byte : input) byte = static_cast<uint8_t>(dice() >> 8);
  input[0] = static_cast<uint8_t>(&codec - CodecTable().data());
  if (dice() % 2) input[1] = static_cast<uint8_t>(dice() % 2 ? Dtype::kBF16 : Dtype::kF8E4M3);
  for (size_t left = input[4] %= kMaxPattern; left > 0; --left) input.push_back(static_cast<uint8_t>(dice() >> 8));
  const auto dtype = static_cast<Dtype>(input[1] % kDtypeCount);
  const unsigned unit = UnitBytes(dtype);
  const Bytes old_block = OldBlock(ByteSpan(input).subspan(kHead), BlockBytes(Load<uint16_t>(&input[2]), dtype));
  Bytes new_block = old_block;
  const unsigned one_in = 1u << (dice() % 9), large = 1u << (dice() % 6);
  for (size_t at = 0; at < new_block.size(); at += unit) {
    if (dice() % one_in) continue;
    new_block[at] = static_cast<uint8_t>(new_block[at] + (dice() % 2 ? 1 : 255));
    if (dice() % large == 0) new_block[at + unit - 1] = static_cast<uint8_t>(dice() >> 8);
  }
  BlockDelta delta;
  ListChanges(old_block, new_block, unit, delta);
  const uint64_t columns = 1 + dice() % 300;
  if (old_block.empty() || !codec.encode({old_block, new_block, delta, dtype, columns, 0}, Level::kDefault, input)) {
    return {};
  }
  return input;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kHead) return 0;
  const Codec& codec = TheCodec() ? *TheCodec() : CodecTable()[(data[0] & 0x1f) % CodecTable().size()];
  const auto dtype = static_cast<Dtype>(data[1] % kDtypeCount);
  const ByteSpan rest(data + kHead, size - kHead);
  if (data[0] & kEncode && !TheCodec()) {
    const Level levels[] = {Level::kFast, Level::kDefault, Level::kMax};
    EncodeAndDecode(codec, dtype, rest, levels[data[2] % 3], data[4], data[0] & kListAll);
    return 0;
  }
  const size_t pattern = std::min<size_t>(data[4] % kMaxPattern, rest.size());
  Decode(codec, dtype, BlockBytes(Load<uint16_t>(data + 2), dtype), rest.first(pattern), rest.subspan(pattern),
         (data[0] & kWithoutOld) == 0);
  return 0;
}

// Begins with a real block when there is nothing better, and now and then anyway: few random bytes are a zstd frame.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  if (size < 16 || seed % 64 == 0) {
    const Codec& codec = TheCodec() ? *TheCodec() : CodecTable()[seed / 64 % CodecTable().size()];
    const Bytes input = HonestInput(codec, seed);
    if (!input.empty() && input.size() <= max_size) {
      std::copy(input.begin(), input.end(), data);
      size = input.size();
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}
