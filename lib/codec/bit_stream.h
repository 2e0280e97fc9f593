// Bits in a row, the first in the lowest bit of the first byte, and the Rice code.
//
// Rice(k) says a number v as v >> k zeros, a one, and the k low bits of v. It is within a few hundredths of a bit of
// the entropy for gaps between events that come by chance, and decodes in a handful of instructions. A number that
// would need more than 31 zeros is said as 32 zeros and its 64 bits, so that no input costs more than 96 bits.
#pragma once

#include <bit>

#include "core/bytes.h"

namespace wdelta {

inline uint64_t LowBits(uint64_t value, unsigned count) {
  return count >= 64 ? value : value & ((uint64_t{1} << count) - 1);
}

class BitWriter {
 public:
  explicit BitWriter(Bytes& out) : out_(out) {}

  void Bits(uint64_t value, unsigned count) {  // the low `count` bits, at most 64
    if (count > 32) {
      Bits(value & 0xffffffff, 32);
      Bits(value >> 32, count - 32);
      return;
    }
    held_ |= LowBits(value, count) << held_count_;
    held_count_ += count;
    if (held_count_ < 32) return;
    const size_t at = out_.size();
    out_.resize(at + 4);
    Store(out_.data() + at, static_cast<uint32_t>(held_));
    held_ >>= 32;
    held_count_ -= 32;
  }
  void Rice(uint64_t value, unsigned k) {
    const uint64_t zeros = value >> k;
    if (zeros > 31) {
      Bits(0, 32);
      Bits(value, 64);
      return;
    }
    Bits(uint64_t{1} << zeros, static_cast<unsigned>(zeros) + 1);
    Bits(value, k);
  }
  void Finish() {  // fills the last byte with zeros
    for (unsigned done = 0; done < held_count_; done += 8) out_.push_back(static_cast<uint8_t>(held_ >> done));
    held_ = 0;
    held_count_ = 0;
  }

 private:
  Bytes& out_;
  uint64_t held_ = 0;
  unsigned held_count_ = 0;  // below 32 between calls
};

// Reads past the end give zeros; whoever reads asks ok() in the end.
class BitReader {
 public:
  explicit BitReader(ByteSpan bytes) : bytes_(bytes) {}

  uint64_t Bits(unsigned count) {  // at most 64
    if (count > 32) {
      const uint64_t low = Bits(32);
      return low | Bits(count - 32) << 32;
    }
    const uint64_t value = LowBits(Peek(), count);
    at_ += count;
    return value;
  }
  uint64_t Rice(unsigned k) {  // k below 24
    const uint64_t window = Peek();
    if ((window & 0xffffffff) == 0) {
      at_ += 32;
      return Bits(64);
    }
    const auto zeros = static_cast<unsigned>(std::countr_zero(window));
    at_ += zeros + 1;
    return uint64_t{zeros} << k | (zeros + 1 + k <= 56 ? (at_ += k, LowBits(window >> (zeros + 1), k)) : Bits(k));
  }
  // Three Rice codes from one look at the bytes, because waiting for that look is most of what a code costs. Nearly
  // always they are short enough; else, and near the end, takes nothing and returns false.
  bool ThreeRice(unsigned k, uint64_t (&numbers)[3]) {  // k below 24
    const size_t byte = at_ / 8;
    if (byte + 8 > bytes_.size()) return false;
    uint64_t window = Load<uint64_t>(bytes_.data() + byte) >> (at_ % 8);
    unsigned length = 0, longest = 0;
    for (uint64_t& number : numbers) {
      const auto zeros = static_cast<unsigned>(std::countr_zero(window));
      number = uint64_t{zeros} << k | LowBits(window >> (zeros & 63) >> 1, k);
      window = window >> ((zeros + 1 + k) & 63);  // wrong if that is over 63, but then the sum is refused below
      length += zeros + 1 + k;
      longest |= zeros;
    }
    if (length > 57 || longest > 31) return false;
    at_ += length;
    return true;
  }
  uint64_t bits_left() const { return at_ > bytes_.size() * 8 ? 0 : bytes_.size() * 8 - at_; }
  bool ok() const { return at_ <= bytes_.size() * 8; }
  // All was read, and what fills the last byte is zeros.
  bool AtEnd() {
    const uint64_t left = bits_left();
    return ok() && left < 8 && Bits(static_cast<unsigned>(left)) == 0;
  }

 private:
  uint64_t Peek() const {  // at least 57 bits from the present place on
    const size_t byte = at_ / 8;
    if (byte + 8 <= bytes_.size()) return Load<uint64_t>(bytes_.data() + byte) >> (at_ % 8);
    uint64_t window = 0;
    for (size_t i = byte; i < bytes_.size(); ++i) window |= uint64_t{bytes_[i]} << (8 * (i - byte));
    return window >> (at_ % 8);
  }

  ByteSpan bytes_;
  uint64_t at_ = 0;  // in bits
};

}  // namespace wdelta
