// Probabilities that learn, and the arithmetic coder that spends them. All integers, so that every machine decodes
// alike.
#pragma once

#include <array>

#include "core/bytes.h"

namespace wdelta {

// How likely a bit is one: starts somewhere, moves by 1 / (n + 1.5) of the error at the n-th bit, and from `limit` bits
// on at a steady rate.
struct AdaptiveBit {
  uint32_t chance = uint32_t{1} << 31;  // of a one, in 2^-32
  uint32_t seen = 0;

  unsigned Chance16() const { return chance >> 16; }
  void Learn(bool bit, uint32_t limit) {
    const int64_t error = (bit ? int64_t{0xffffffff} : 0) - int64_t{chance};
    chance = static_cast<uint32_t>(int64_t{chance} + error * 2 / (2 * int64_t{seen} + 3));
    if (seen < limit) ++seen;
  }
};

// Binary arithmetic coding: an interval of 32 bits is split in proportion to the chance of a one, given in 2^-16.
class BitEncoder {
 public:
  explicit BitEncoder(Bytes& out) : out_(out) {}
  void Put(bool bit, unsigned chance) {
    const uint32_t middle = low_ + static_cast<uint32_t>(uint64_t{high_ - low_} * Clamp(chance) >> 16);
    bit ? high_ = middle : low_ = middle + 1;
    for (; (low_ ^ high_) < (uint32_t{1} << 24); low_ <<= 8, high_ = high_ << 8 | 0xff) {
      out_.push_back(static_cast<uint8_t>(high_ >> 24));
    }
  }
  void Finish() {
    for (int i = 0; i < 4; ++i, low_ <<= 8) out_.push_back(static_cast<uint8_t>(low_ >> 24));
  }
  static uint64_t Clamp(unsigned chance) { return chance < 1 ? 1 : chance > 65535 ? 65535 : chance; }

 private:
  Bytes& out_;
  uint32_t low_ = 0, high_ = 0xffffffff;
};

// Reads what BitEncoder wrote. Past the end it reads zeros; AtEnd() tells whether it took exactly what was there.
class BitDecoder {
 public:
  explicit BitDecoder(ByteSpan bytes) : bytes_(bytes) {
    for (int i = 0; i < 4; ++i) value_ = value_ << 8 | Next();
  }
  bool Take(unsigned chance) {
    const uint32_t middle = low_ + static_cast<uint32_t>(uint64_t{high_ - low_} * BitEncoder::Clamp(chance) >> 16);
    const bool bit = value_ <= middle;
    bit ? high_ = middle : low_ = middle + 1;
    for (; (low_ ^ high_) < (uint32_t{1} << 24); low_ <<= 8, high_ = high_ << 8 | 0xff) value_ = value_ << 8 | Next();
    return bit;
  }
  bool AtEnd() const { return at_ == bytes_.size(); }
  bool PastEnd() const { return at_ > bytes_.size(); }

 private:
  uint32_t Next() {
    const uint32_t byte = at_ < bytes_.size() ? bytes_[at_] : 0;
    ++at_;
    return byte;
  }
  ByteSpan bytes_;
  size_t at_ = 0;
  uint32_t low_ = 0, high_ = 0xffffffff, value_ = 0;
};

}  // namespace wdelta
