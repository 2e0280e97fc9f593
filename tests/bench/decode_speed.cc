// How fast blocks are coded and decoded, from memory to memory: no files, no checksums. All changed blocks of a pair
// take part, a quarter of a GiB at a time, so that it works for any size; what is decoded is compared with what it has
// to be, and that comparison, memcmp of as many bytes, is the yardstick.
//
//   decode_speed [--threads N] [--rounds N] [--level fast|default|max] [--every N] BASE NEW
//
// --every takes each N-th block only. Prints one JSON object: GB of checkpoint in a second, on all threads together.
#include <chrono>

#include "codec/codec.h"
#include "core/parallel.h"
#include "workbench.h"

namespace {

using namespace wdelta;  // NOLINT(google-build-using-namespace): a program, and all of it is about the library

constexpr uint64_t kBatchBlocks = 256;

template <class T>
T Need(Result<T> result) {
  if (!result.ok()) workbench::Die(result.error().message);
  return std::move(*result);
}

struct MemoryBlock {
  Bytes old_block, new_block, state;
  BlockDelta delta;
  Dtype dtype = Dtype::kU8;
  uint64_t columns = 1, first_unit = 0;
  uint8_t codec = 0;
  Bytes coded;

  BlockChange Change() const { return {old_block, new_block, delta, dtype, columns, first_unit}; }
};

// Seconds for each round, over all batches.
using Times = std::vector<double>;

class Race {
 public:
  Race(unsigned threads, size_t rounds, Level level)
      : limits_(LimitsFor(threads, {})), level_(level), scratch_(limits_.threads), coded_bytes_(0), bytes_(0) {
    for (Times* times : {&encode_, &decode_, &compare_}) times->resize(rounds);
  }

  void Run(std::vector<MemoryBlock>& batch) {
    for (size_t round = 0; round < encode_.size(); ++round) {
      encode_[round] += Time(batch, [&](MemoryBlock& block, unsigned) -> Result<> {
        block.coded.clear();
        block.codec = EncodeBlock(block.Change(), level_, nullptr, block.coded);
        return {};
      });
      for (MemoryBlock& block : batch) block.state = block.old_block;
      decode_[round] += Time(batch, [&](MemoryBlock& block, unsigned worker) -> Result<> {
        const BlockFrame frame{block.old_block, block.new_block.size(), block.dtype};
        WD_TRY(DecodeBlock(block.codec, block.coded, frame, scratch_[worker]));
        return PatchBlock(scratch_[worker], UnitBytes(block.dtype), block.state);
      });
      compare_[round] += Time(batch, [&](MemoryBlock& block, unsigned) -> Result<> {
        if (std::memcmp(block.state.data(), block.new_block.data(), block.state.size()) == 0) return {};
        return Error{ErrorKind::kIntegrity, "a block was not decoded to what it was"};
      });
    }
    for (const MemoryBlock& block : batch) {
      bytes_ += block.new_block.size();
      coded_bytes_ += block.coded.size();
    }
  }
  void Print() const {
    std::printf("{\"bytes\": %llu, \"coded_bytes\": %llu, \"encode\": %.4f, \"decode\": %.4f, \"memcmp\": %.4f}\n",
                static_cast<unsigned long long>(bytes_), static_cast<unsigned long long>(coded_bytes_), Speed(encode_),
                Speed(decode_), Speed(compare_));
  }

 private:
  template <class Work>
  double Time(std::vector<MemoryBlock>& batch, const Work& work) const {
    const auto start = std::chrono::steady_clock::now();
    const auto on_block = [&](uint64_t index, unsigned worker) -> Result<bool> {
      WD_TRY(work(batch[index], worker));
      return true;
    };
    const auto done = [](uint64_t, bool) -> Result<> { return {}; };
    if (const Result<> ran = RunOrdered<bool>(batch.size(), limits_, on_block, done); !ran.ok()) {
      workbench::Die(ran.error().message);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  // Of the median round.
  double Speed(Times times) const {
    std::sort(times.begin(), times.end());
    return static_cast<double>(bytes_) / times[times.size() / 2] / 1e9;
  }

  RunLimits limits_;
  Level level_;
  std::vector<BlockDelta> scratch_;
  uint64_t coded_bytes_, bytes_;
  Times encode_, decode_, compare_;
};

// Calls visit(block) for every changed block of a tensor that both have in the same form.
template <class Visit>
void ForEachChanged(const Checkpoint& base, const Checkpoint& next, uint64_t every, const Visit& visit) {
  uint64_t seen = 0;
  for (const Tensor& tensor : next.tensors()) {
    const Tensor* before = base.Find(tensor.name);
    if (before == nullptr || !before->SameForm(tensor)) continue;
    for (uint64_t number = 0; number < BlockCount(tensor.bytes); ++number) {
      if (seen++ % every != 0) continue;
      MemoryBlock block;
      block.old_block.resize(BlockLength(tensor.bytes, number));
      block.new_block.resize(block.old_block.size());
      for (const Result<>& read : {base.Read(*before, number * kBlockBytes, block.old_block),
                                   next.Read(tensor, number * kBlockBytes, block.new_block)}) {
        if (!read.ok()) workbench::Die(read.error().message);
      }
      block.dtype = tensor.dtype;
      block.columns = tensor.shape.empty() ? 1 : tensor.shape.back();
      block.first_unit = number * kBlockBytes / UnitBytes(tensor.dtype);
      if (CompareBlock(block.old_block, block.new_block, UnitBytes(tensor.dtype), block.delta) != 0) visit(block);
    }
  }
}

Level LevelNamed(const std::string& name) {
  if (name != "fast" && name != "default" && name != "max") workbench::Die("no level '" + name + "'");
  return name == "fast" ? Level::kFast : name == "max" ? Level::kMax : Level::kDefault;
}

}  // namespace

int main(int argc, char** argv) {
  const workbench::Options options(argc, argv, {"threads", "rounds", "level", "every"}, {});
  if (options.words().size() != 2) workbench::Die("usage: decode_speed [options] BASE NEW");
  const auto silent = [](const std::string&) {};
  const Checkpoint base = Need(Checkpoint::Open(options.words()[0], {}, silent));
  const Checkpoint next = Need(Checkpoint::Open(options.words()[1], {}, silent));
  Race race(workbench::ThreadCount(options), static_cast<size_t>(std::max(1.0, options.Number("rounds", 3))),
            LevelNamed(options.Text("level", "default")));
  std::vector<MemoryBlock> batch;
  const auto run = [&] {
    if (!batch.empty()) race.Run(batch);
    batch.clear();
  };
  ForEachChanged(base, next, static_cast<uint64_t>(std::max(1.0, options.Number("every", 1))), [&](MemoryBlock& block) {
    batch.push_back(std::move(block));
    if (batch.size() == kBatchBlocks) run();
  });
  run();
  race.Print();
}
