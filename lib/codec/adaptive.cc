// The smallest form, for when bytes cost more than time: one adaptive decision for each element that could have
// changed.
//
// Whether an element changed is guessed from the exponent of its old value; how far it went, from the exponent too.
// Which way it went is guessed from its row and column: the gradient of a linear layer is a sum of few outer products,
// so the directions in a row are those of the columns, or all the opposite. The guess follows how often each column
// went with its rows (rank one), and how rows and columns lean by themselves. On Adam steps that is worth 0.1 to 0.14
// of the bit that a direction costs, and takes the whole below the entropy given the exponent alone.
#include <bit>
#include <vector>

#include "codec/adaptive_bit.h"
#include "codec/class_scan.h"
#include "codec/codec.h"
#include "codec/events.h"
#include "codec/mixer.h"

namespace wdelta {

namespace {

constexpr uint64_t kMaxColumns = 65536;
constexpr uint32_t kSlow = 30000, kQuick = 1023;  // bits after which a chance no longer settles
constexpr unsigned kMaxLevels = 16;               // of log2 of a step

// An arithmetic coder that either writes the bits it is given or reads them: encoder and decoder walk the same model.
struct Writer {
  BitEncoder coder;
  bool Code(bool bit, unsigned chance) {
    coder.Put(bit, chance);
    return bit;
  }
};
struct Reader {
  BitDecoder coder;
  bool Code(bool, unsigned chance) { return coder.Take(chance); }
};

// Directions by row and column. Numbers are in 1/256.
class DirectionModel {
 public:
  explicit DirectionModel(uint64_t columns) : follows_(columns), leans_(columns), last_(columns) {}

  template <class Coder>
  bool Code(Coder& coder, uint32_t column, bool up) {
    const auto rank_one =
        static_cast<int>(std::clamp<int64_t>((int64_t{row_follows_} * follows_[column] * 4) >> 16, -15, 15) + 16);
    const int lean = std::clamp(((row_leans_ >> 1) + leans_[column]) * 3 >> 8, -15, 15) + 16;
    const int last = (last_in_row_ + 1) * 3 + last_[column] + 1;
    AdaptiveBit* const states[] = {&by_rank_one_[rank_one], &by_both_[rank_one * 9 + last], &by_lean_[lean]};
    up = coder.Code(up, mixer_.Mix({states[0]->Chance16(), states[1]->Chance16(), states[2]->Chance16()}));
    mixer_.Learn(up);
    for (AdaptiveBit* state : states) state->Learn(up, 250);
    const int direction = up ? 1 : -1;
    row_follows_ += direction * follows_[column];
    row_leans_ = (row_leans_ * 205 >> 8) + 256 * direction;
    leans_[column] = (leans_[column] * 205 >> 8) + 128 * direction;
    last_in_row_ = last_[column] = direction;
    row_.push_back({column, direction});
    return up;
  }

  // Now it is known which way the row went as a whole, and so which columns went with it.
  void EndRow() {
    const int way = row_follows_ >= 0 ? 1 : -1, trust = 51 + std::min(256, row_follows_ * way);
    for (const auto& [column, direction] : row_) {
      follows_[column] = (follows_[column] * 230 >> 8) + (way * direction * trust >> 1);
    }
    row_.clear();
    row_follows_ = row_leans_ = last_in_row_ = 0;
  }

 private:
  std::vector<int> follows_, leans_, last_;  // by column
  int row_follows_ = 0, row_leans_ = 0, last_in_row_ = 0;
  std::vector<std::pair<uint32_t, int>> row_;  // what went where in this row
  AdaptiveBit by_rank_one_[32], by_both_[32 * 9], by_lean_[32];
  Mixer<3> mixer_;
};

// Sizes of steps by exponent. The size has some number of bits, said one by one; then what follows the leading one, the
// upper three adaptively. An exponent that is new at a level starts with what was learned for sizes that mean the same
// change of the weight: one more exponent, one level less.
class SizeModel {
 public:
  template <class Coder>
  uint64_t Code(Coder& coder, uint32_t exponent, unsigned max_bits, uint64_t size) {
    unsigned bits = 0;
    for (; bits + 1 < max_bits; ++bits) {
      AdaptiveBit &state = levels_[bits][exponent], &same_change = changes_[(exponent + bits) % kChanges];
      if (state.seen == 0 && same_change.seen > 2) state = {same_change.chance, 1};
      const bool more = coder.Code(size >> (bits + 1) != 0, state.Chance16());
      state.Learn(more, kQuick);
      same_change.Learn(more, kQuick);
      if (!more) break;
    }
    uint64_t value = 1;
    for (unsigned bit = bits; bit-- > 0;) {
      const unsigned depth = bits - 1 - bit;
      bool one = (size >> bit & 1) != 0;
      if (depth < 3) {
        const auto upper = static_cast<unsigned>((1u << depth) + (value & ((1u << depth) - 1)));
        AdaptiveBit& state = details_[upper][(exponent + bits) % kChanges];
        one = coder.Code(one, state.Chance16());
        state.Learn(one, kQuick);
      } else {
        one = coder.Code(one, 32768);
      }
      value = value << 1 | one;
    }
    return value;
  }

 private:
  static constexpr unsigned kChanges = 512;
  AdaptiveBit levels_[kMaxLevels][256], changes_[kChanges], details_[8][kChanges];
};

// The walk over a block that both directions make. The delta is a const one that is read when writing, and is filled
// when reading.
template <class T, class Coder, class Delta>
Result<> WalkBlock(Coder& coder, ByteSpan old_block, Dtype dtype, std::span<const uint64_t> active, uint32_t highest,
                   uint64_t columns, uint64_t column, Delta& delta) {
  constexpr bool kReading = std::is_same_v<Coder, Reader>;
  constexpr unsigned kBits = 8 * sizeof(T);
  const ExponentField field = ExponentOf(dtype);
  const uint64_t units = old_block.size() / sizeof(T);
  std::vector<AdaptiveBit> slow(field.mask + 1), quick(field.mask + 1);
  for (auto* states : {&slow, &quick}) {
    for (AdaptiveBit& state : *states) state.chance = uint32_t{0x4ccccccc};  // 0.3
  }
  const auto sizes = std::make_unique<SizeModel>();
  DirectionModel directions(columns);
  size_t next = 0;
  for (uint64_t unit = 0; unit < units; ++unit, ++column) {
    if (column == columns) {
      directions.EndRow();
      column = 0;
    }
    if (active[unit / 64] == 0) continue;
    const T old_value = Load<T>(old_block.data() + unit * sizeof(T));
    const auto exponent = static_cast<uint32_t>(old_value >> field.shift) & field.mask;
    if (exponent > highest) continue;
    bool changed = !kReading && next < delta.positions.size() && delta.positions[next] == unit;
    changed = coder.Code(changed, (slow[exponent].Chance16() + quick[exponent].Chance16()) / 2);
    slow[exponent].Learn(changed, kSlow);
    quick[exponent].Learn(changed, kQuick);
    if (!changed) continue;

    T step = 0;
    if constexpr (!kReading) step = static_cast<T>(Load<T>(delta.values.data() + next * sizeof(T)) - old_value);
    bool negative = step >> (kBits - 1);
    const T size = negative ? static_cast<T>(0 - step) : step;
    const bool old_negative = old_value >> (kBits - 1);
    // Towards larger values, not larger bit patterns: those of negative numbers fall as the number rises.
    negative = !directions.Code(coder, static_cast<uint32_t>(column), negative == old_negative) != old_negative;
    const auto coded_size = static_cast<T>(sizes->Code(coder, exponent, kBits, size));
    if constexpr (kReading) {
      delta.positions.push_back(static_cast<uint32_t>(unit));
      const size_t at = delta.values.size();
      delta.values.resize(at + sizeof(T));
      Store(delta.values.data() + at,
            static_cast<T>(old_value + (negative ? static_cast<T>(0 - coded_size) : coded_size)));
      if (coder.coder.PastEnd()) return Error{ErrorKind::kIntegrity, "ends too early"};
    }
    ++next;
  }
  return {};
}

bool CanSay(Dtype dtype) {
  return ExponentOf(dtype).mask != 0 && UnitBytes(dtype) <= 2;
}

bool EncodeAdaptive(const BlockChange& change, Level, Bytes& out) {
  if (change.old_block.size() != change.new_block.size() || change.delta.whole || change.delta.positions.empty() ||
      !CanSay(change.dtype) || !EveryListedChanged(change)) {
    return false;
  }
  const unsigned unit = UnitBytes(change.dtype);
  const ExponentField field = ExponentOf(change.dtype);
  uint32_t highest = 0;
  for (const uint32_t position : change.delta.positions) {
    uint16_t value = 0;
    std::memcpy(&value, change.old_block.data() + size_t{position} * unit, unit);
    highest = std::max(highest, static_cast<uint32_t>(value >> field.shift) & field.mask);
  }
  const bool fits = change.columns > 1 && change.columns <= kMaxColumns;
  const uint64_t columns = fits ? change.columns : 1024, column = fits ? change.first_unit % columns : 0;
  ByteWriter head;
  head.Fixed(static_cast<uint8_t>(highest));
  head.Varint(columns);
  head.Varint(column);
  Bytes runs;
  BitWriter run_bits(runs);
  const auto active = PutActiveRuns(run_bits, change.old_block.size() / unit, change.delta.positions);
  run_bits.Finish();
  head.Varint(runs.size());
  head.Raw(runs);
  out.insert(out.end(), head.bytes().begin(), head.bytes().end());
  Writer writer{BitEncoder(out)};
  const BlockDelta& delta = change.delta;
  const Result<> walked =
      unit == 1 ? WalkBlock<uint8_t>(writer, change.old_block, change.dtype, active, highest, columns, column, delta)
                : WalkBlock<uint16_t>(writer, change.old_block, change.dtype, active, highest, columns, column, delta);
  writer.coder.Finish();
  return walked.ok();
}

Result<> DecodeAdaptive(ByteSpan coded, const BlockFrame& frame, BlockDelta& delta) {
  delta.Clear();
  if (frame.old_block.size() != frame.new_bytes || frame.new_bytes == 0) {
    return Error{ErrorKind::kIntegrity, "coded against an old block that is not there"};
  }
  if (!CanSay(frame.dtype)) return Error{ErrorKind::kIntegrity, "a codec that does not know this dtype"};
  const unsigned unit = UnitBytes(frame.dtype);
  ByteReader in(coded);
  WD_ASSIGN(const uint8_t highest, in.Fixed<uint8_t>());
  WD_ASSIGN(const uint64_t columns, in.Varint());
  WD_ASSIGN(const uint64_t column, in.Varint());
  if (columns == 0 || columns > kMaxColumns || column >= columns)
    return Error{ErrorKind::kIntegrity, "rows out of range"};
  WD_ASSIGN(const uint64_t run_bytes, in.Varint());
  WD_ASSIGN(const ByteSpan runs, in.Raw(run_bytes));
  BitReader run_bits(runs);
  WD_ASSIGN(const auto active, TakeActiveRuns(run_bits, frame.new_bytes / unit));
  if (!run_bits.AtEnd()) return Error{ErrorKind::kIntegrity, "run flags of the wrong length"};
  WD_ASSIGN(const ByteSpan bits, in.Raw(in.left()));
  Reader reader{BitDecoder(bits)};
  WD_TRY(unit == 1
             ? WalkBlock<uint8_t>(reader, frame.old_block, frame.dtype, active, highest, columns, column, delta)
             : WalkBlock<uint16_t>(reader, frame.old_block, frame.dtype, active, highest, columns, column, delta));
  if (!reader.coder.AtEnd()) return Error{ErrorKind::kIntegrity, "has another length than its content"};
  return {};
}

}  // namespace

const Codec kAdaptiveCodec{5, "adaptive", EncodeAdaptive, DecodeAdaptive};

}  // namespace wdelta
