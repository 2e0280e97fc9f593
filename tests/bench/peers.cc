// The sizes of a bf16 pair in the encodings of public systems, and the entropy that bounds what any of them can reach.
// Frames are zstd -1, one for each block of 1 MiB; only what a reader needs is counted, no checksums and no names.
//
//   peers [--threads N] BASE NEW      prints one JSON object, in bytes:
//     raw          int32 index and bf16 value of each change (TRL)
//     gaps         u16 gaps between the changes, and their values, a zstd frame of each (PULSE-like)
//     xor          XOR of the tensors, zstd (slime, SGLang, Stitch, ModelExpress)
//     xor_planes   all low bytes of the XOR, then all high bytes, zstd
//     new          the new tensors, zstd
//     new_planes   all low bytes of the new tensors, then all high bytes, zstd
//     entropy      of the signed step in the bit pattern, 0 for no change, as it is spread in each tensor; base unknown
//     entropy_exponent   the same given the exponent of the base's weight
//     entropy_rows       the same given which rows have no change at all, and the cost of saying which
#include <zstd.h>

#include <array>
#include <cmath>
#include <span>
#include <unordered_map>

#include "tensor_blocks.h"

namespace {

using workbench::kBlock;

double NLogN(uint64_t n) {
  return n == 0 ? 0 : static_cast<double>(n) * std::log2(static_cast<double>(n));
}

// How often each step was seen; 0 is no change.
class StepCounts {
 public:
  void Add(int step, uint64_t times = 1) {
    total_ += times;
    if (step > -kNear && step < kNear) {
      near_[static_cast<size_t>(step + kNear)] += times;
    } else {
      far_[step] += times;
    }
  }
  void Add(const StepCounts& other) {
    for (int step = 1 - kNear; step < kNear; ++step) Add(step, other.near_[static_cast<size_t>(step + kNear)]);
    for (const auto& [step, times] : other.far_) Add(step, times);
  }
  // In bits, of all that was counted.
  double Entropy() const {
    double bits = NLogN(total_);
    for (const uint64_t times : near_) bits -= NLogN(times);
    for (const auto& [step, times] : far_) bits -= NLogN(times);
    return bits;
  }

 private:
  static constexpr int kNear = 128;
  std::array<uint64_t, 2 * kNear> near_{};
  std::unordered_map<int, uint64_t> far_;
  uint64_t total_ = 0;
};

using ByExponent = std::array<StepCounts, 256>;

double EntropyOf(const ByExponent& counts) {
  double bits = 0;
  for (const StepCounts& each : counts) bits += each.Entropy();
  return bits;
}

// Bit patterns in the order of the numbers that they mean, so that neighbours are one step apart.
int Ordered(uint16_t pattern) {
  return (pattern & 0x8000) != 0 ? -(pattern & 0x7fff) : pattern;
}

// In bytes, of one tensor or of several.
struct Sizes {
  uint64_t elements = 0, changed = 0, gaps = 0, xored = 0, xor_planes = 0, fresh = 0, new_planes = 0;
  double entropy = 0, entropy_exponent = 0, entropy_rows = 0;

  void Add(const Sizes& other) {
    elements += other.elements, changed += other.changed, gaps += other.gaps, xored += other.xored;
    xor_planes += other.xor_planes, fresh += other.fresh, new_planes += other.new_planes;
    entropy += other.entropy, entropy_exponent += other.entropy_exponent, entropy_rows += other.entropy_rows;
  }
};

// What the entropies of one tensor are made from.
struct StepTally {
  uint64_t rows = 0, idle_rows = 0;
  ByExponent active{}, idle{};  // in rows with a change, and in rows without

  void Measure(Sizes& sizes) const {
    ByExponent all = active;
    StepCounts plain;
    for (size_t i = 0; i < all.size(); ++i) {
      all[i].Add(idle[i]);
      plain.Add(all[i]);
    }
    sizes.entropy = plain.Entropy() / 8;
    sizes.entropy_exponent = EntropyOf(all) / 8;
    sizes.entropy_rows = (EntropyOf(active) + NLogN(rows) - NLogN(idle_rows) - NLogN(rows - idle_rows)) / 8;
  }
};

class PeerWorker {
 public:
  PeerWorker() : before_(kBlock), after_(kBlock), frame_(ZSTD_compressBound(2 * kBlock)) {}
  PeerWorker(const PeerWorker&) = delete;
  PeerWorker& operator=(const PeerWorker&) = delete;
  ~PeerWorker() { ZSTD_freeCCtx(context_); }

  Sizes Count(const workbench::OpenFile& base, const workbench::OpenFile& next,
              std::span<const workbench::TensorBlock> tensor) {
    sizes_ = {};
    tally_ = {};
    for (const workbench::TensorBlock& block : tensor) CountBlock(base, next, block);
    tally_.Measure(sizes_);
    return sizes_;
  }

 private:
  void CountBlock(const workbench::OpenFile& base, const workbench::OpenFile& next,
                  const workbench::TensorBlock& block) {
    unsigned char* const before = before_.For(block.at);
    unsigned char* const after = after_.For(block.at);
    base.Read(before, block.length, block.at);
    next.Read(after, block.length, block.at);
    const size_t count = block.length / 2;
    old_.resize(count), new_.resize(count);
    std::memcpy(old_.data(), before, 2 * count);
    std::memcpy(new_.data(), after, 2 * count);
    CountFrames();
    CountGaps();
    CountSteps(block);
  }
  size_t FrameSize(const void* data, size_t length) {
    const size_t size = ZSTD_compressCCtx(context_, frame_.data(), frame_.size(), data, length, 1);
    if (ZSTD_isError(size)) workbench::Die(ZSTD_getErrorName(size));
    return size;
  }
  size_t PlanesSize(const std::vector<uint16_t>& elements) {
    planes_.resize(2 * elements.size());
    for (size_t i = 0; i < elements.size(); ++i) {
      planes_[i] = static_cast<unsigned char>(elements[i]);
      planes_[elements.size() + i] = static_cast<unsigned char>(elements[i] >> 8);
    }
    return FrameSize(planes_.data(), planes_.size());
  }
  void CountFrames() {
    sizes_.fresh += FrameSize(new_.data(), 2 * new_.size());
    sizes_.new_planes += PlanesSize(new_);
    xor_.resize(new_.size());
    for (size_t i = 0; i < new_.size(); ++i) xor_[i] = old_[i] ^ new_[i];
    sizes_.xored += FrameSize(xor_.data(), 2 * xor_.size());
    sizes_.xor_planes += PlanesSize(xor_);
  }
  void CountGaps() {
    gaps_.clear();
    values_.clear();
    size_t expected = 0;
    for (size_t i = 0; i < new_.size(); ++i) {
      if (old_[i] == new_[i]) continue;
      size_t gap = i - expected;
      for (; gap >= 0xffff; gap -= 0xffff) gaps_.push_back(0xffff);
      gaps_.push_back(static_cast<uint16_t>(gap));
      values_.push_back(new_[i]);
      expected = i + 1;
    }
    if (values_.empty()) return;
    sizes_.gaps += FrameSize(gaps_.data(), 2 * gaps_.size()) + FrameSize(values_.data(), 2 * values_.size());
  }
  // A row that two blocks share counts as two.
  void CountSteps(const workbench::TensorBlock& block) {
    sizes_.elements += new_.size();
    for (size_t at = 0; at < new_.size();) {
      const size_t into_row = (block.in_tensor / 2 + at) % block.columns;
      const size_t end = std::min<size_t>(new_.size(), at + block.columns - into_row);
      uint64_t changed = 0;
      for (size_t i = at; i < end; ++i) changed += old_[i] != new_[i];
      ++tally_.rows;
      sizes_.changed += changed;
      if (changed == 0) ++tally_.idle_rows;
      ByExponent& counts = changed != 0 ? tally_.active : tally_.idle;
      for (; at < end; ++at) counts[old_[at] >> 7 & 0xff].Add(Ordered(new_[at]) - Ordered(old_[at]));
    }
  }

  workbench::PageBuffer before_, after_;
  std::vector<char> frame_;
  std::vector<uint16_t> old_, new_, xor_, gaps_, values_;
  std::vector<unsigned char> planes_;
  Sizes sizes_;
  StepTally tally_;
  ZSTD_CCtx* context_ = ZSTD_createCCtx();
};

void Print(const char* name, double bytes, const char* then) {
  std::printf("\"%s\": %.0f%s", name, bytes, then);
}

void PrintAll(const Sizes& sizes) {
  std::printf("{");
  Print("elements", static_cast<double>(sizes.elements), ", ");
  Print("changed", static_cast<double>(sizes.changed), ", ");
  Print("raw", 6 * static_cast<double>(sizes.changed), ", ");
  Print("gaps", static_cast<double>(sizes.gaps), ", ");
  Print("xor", static_cast<double>(sizes.xored), ", ");
  Print("xor_planes", static_cast<double>(sizes.xor_planes), ", ");
  Print("new", static_cast<double>(sizes.fresh), ", ");
  Print("new_planes", static_cast<double>(sizes.new_planes), ", ");
  Print("entropy", sizes.entropy, ", ");
  Print("entropy_exponent", sizes.entropy_exponent, ", ");
  Print("entropy_rows", sizes.entropy_rows, "}\n");
}

}  // namespace

int main(int argc, char** argv) {
  const workbench::Options options(argc, argv, {"threads"}, {});
  if (options.words().size() != 2) workbench::Die("usage: peers [--threads N] BASE NEW");
  const workbench::OpenFile base(options.words()[0], O_RDONLY), next(options.words()[1], O_RDONLY);
  if (base.Size() != next.Size()) workbench::Die("the files differ in size");
  const workbench::HeaderText header(base);
  if (!header.AllBf16()) workbench::Die("expected tensors of BF16 only in '" + options.words()[0] + "'");

  const std::vector<workbench::TensorBlock> blocks = header.Blocks();
  std::vector<std::span<const workbench::TensorBlock>> tensors;
  for (size_t begin = 0, end = 0; begin < blocks.size(); begin = end) {
    for (end = begin + 1; end < blocks.size() && blocks[end].in_tensor != 0;) ++end;
    tensors.push_back(std::span(blocks).subspan(begin, end - begin));
  }
  const unsigned threads = workbench::ThreadCount(options);
  std::vector<PeerWorker> workers(threads);
  std::vector<Sizes> found(tensors.size());
  workbench::RunCrew(threads, tensors.size(), [&](unsigned worker, uint64_t index) {
    found[index] = workers[worker].Count(base, next, tensors[index]);
  });
  Sizes sizes;
  for (const Sizes& each : found) sizes.Add(each);
  PrintAll(sizes);
}
