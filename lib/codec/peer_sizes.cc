#include "codec/peer_sizes.h"

#include <cmath>

#include "codec/zstd_frame.h"

namespace wdelta {

namespace {

constexpr int kPeerZstdLevel = 1;
constexpr unsigned kExponentBits = 11;  // of F64, which has the most

double NLogN(uint64_t n) {
  return n == 0 ? 0 : static_cast<double>(n) * std::log2(static_cast<double>(n));
}

}  // namespace

void PeerSizes::Add(const PeerSizes& other) {
  raw += other.raw;
  gaps += other.gaps;
  xored += other.xored;
  entropy += other.entropy;
  entropy_given_base += other.entropy_given_base;
}

uint64_t PeerMeter::FrameSize(ByteSpan data) {
  frame_.clear();
  ZstdCompress(data, kPeerZstdLevel, frame_);
  return frame_.size();
}

void PeerMeter::AddBlock(ByteSpan old_block, ByteSpan new_block, Dtype dtype) {
  if (old_block.empty()) {  // everybody sends all of it
    const uint64_t frame = FrameSize(new_block);
    sizes_.raw += new_block.size();
    sizes_.gaps += frame;
    sizes_.xored += frame;
    return;
  }
  const unsigned unit = UnitBytes(dtype);
  ListChanges(old_block, new_block, unit, changes_);
  sizes_.raw += changes_.positions.size() * (sizeof(int32_t) + unit);
  work_.resize(new_block.size());
  for (size_t i = 0; i < work_.size(); ++i) work_[i] = old_block[i] ^ new_block[i];
  sizes_.xored += FrameSize(work_);
  if (!changes_.positions.empty()) MeasureGaps();
  units_ += new_block.size() / unit;
  CountSteps(old_block, dtype);
}

void PeerMeter::MeasureGaps() {
  ByteWriter gaps;
  uint32_t expected = 0;
  for (const uint32_t position : changes_.positions) {
    uint32_t gap = position - expected;
    for (; gap >= 0xffff; gap -= 0xffff) gaps.Fixed<uint16_t>(0xffff);
    gaps.Fixed(static_cast<uint16_t>(gap));
    expected = position + 1;
  }
  sizes_.gaps += FrameSize(gaps.bytes()) + FrameSize(changes_.values);
}

// A step is up or down in the order of the numbers, so below zero it is the other way round than in the bit patterns.
void PeerMeter::CountSteps(ByteSpan old_block, Dtype dtype) {
  const FloatForm form = FloatFormOf(dtype).value_or(FloatForm{});
  const uint64_t mask = form.exponent_mask(), sign = form.exponent_bits ? form.SignBit() : 0;
  exponents_.resize(std::max<size_t>(exponents_.size(), mask + 1));
  WithUnit(UnitBytes(dtype), [&]<class T>(T) {
    for (size_t at = 0; at < old_block.size(); at += sizeof(T)) {
      ++exponents_[Load<T>(old_block.data() + at) >> form.mantissa_bits & mask];
    }
    for (size_t i = 0; i < changes_.positions.size(); ++i) {
      const T before = Load<T>(old_block.data() + changes_.positions[i] * sizeof(T));
      const T after = Load<T>(changes_.values.data() + i * sizeof(T));
      const bool negative = (before & sign) != 0;
      const uint64_t step = static_cast<T>(negative ? before - after : after - before);
      ++steps_[step];
      ++exponent_steps_[step << kExponentBits | (before >> form.mantissa_bits & mask)];
    }
  });
}

PeerSizes PeerMeter::FinishTensor() {
  uint64_t changed = 0;
  double bits = NLogN(units_);
  for (const auto& [step, times] : steps_) {
    changed += times;
    bits -= NLogN(times);
  }
  sizes_.entropy = (bits - NLogN(units_ - changed)) / 8;
  double bits_given_base = 0;
  std::vector<uint64_t> unchanged = exponents_;
  for (const uint64_t count : exponents_) bits_given_base += NLogN(count);
  for (const auto& [key, times] : exponent_steps_) {
    bits_given_base -= NLogN(times);
    unchanged[key & ((1 << kExponentBits) - 1)] -= times;
  }
  for (const uint64_t count : unchanged) bits_given_base -= NLogN(count);
  sizes_.entropy_given_base = bits_given_base / 8;
  const PeerSizes measured = sizes_;
  sizes_ = {};
  units_ = 0;
  exponents_.clear();
  steps_.clear();
  exponent_steps_.clear();
  return measured;
}

}  // namespace wdelta
