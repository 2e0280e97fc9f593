// The peer: XOR + zstd -1, as several public systems ship their updates, with the reading and the checksums that wdelta
// has: tensor by tensor in blocks of 1 MiB, XXH3-128 of the old and of the new block, XOR, one zstd frame each.
// The frames go to OUT in the order in which they are done; each has its place and both checksums before it.
//
//   xor_zstd [--threads N] [--level L] BASE NEW OUT      prints the size of OUT
#include <xxhash.h>
#include <zstd.h>

#include "tensor_blocks.h"

namespace {

using workbench::kBlock;
using workbench::TensorBlock;

struct FrameHead {
  uint64_t at, length;
  XXH128_hash_t before, after;
  uint64_t frame_length;
};

class Worker {
 public:
  Worker() : before_(kBlock), after_(kBlock), out_(sizeof(FrameHead) + ZSTD_compressBound(kBlock)) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { ZSTD_freeCCtx(context_); }

  // Returns head and frame of one block, in this worker's own memory.
  std::pair<const char*, size_t> Encode(const workbench::OpenFile& base, const workbench::OpenFile& next,
                                        const TensorBlock& block, int level) {
    unsigned char* const before = before_.For(block.at);
    unsigned char* const after = after_.For(block.at);
    base.Read(before, block.length, block.at);
    next.Read(after, block.length, block.at);
    FrameHead head{block.at, block.length, XXH3_128bits(before, block.length), XXH3_128bits(after, block.length), 0};
    for (size_t i = 0; i < block.length; ++i) before[i] ^= after[i];
    head.frame_length =
        ZSTD_compressCCtx(context_, out_.data() + sizeof head, out_.size() - sizeof head, before, block.length, level);
    if (ZSTD_isError(head.frame_length)) workbench::Die(ZSTD_getErrorName(head.frame_length));
    std::memcpy(out_.data(), &head, sizeof head);
    return {out_.data(), sizeof head + head.frame_length};
  }

 private:
  workbench::PageBuffer before_, after_;
  std::vector<char> out_;
  ZSTD_CCtx* context_ = ZSTD_createCCtx();
};

}  // namespace

int main(int argc, char** argv) {
  const workbench::Options options(argc, argv, {"threads", "level"}, {});
  if (options.words().size() != 3) workbench::Die("usage: xor_zstd [--threads N] [--level L] BASE NEW OUT");
  const workbench::OpenFile base(options.words()[0], O_RDONLY), next(options.words()[1], O_RDONLY);
  const workbench::OpenFile out(options.words()[2], O_WRONLY | O_CREAT | O_TRUNC);
  if (base.Size() != next.Size()) workbench::Die("the files differ in size");

  const std::vector<TensorBlock> blocks = workbench::HeaderText(base).Blocks();
  const unsigned threads = workbench::ThreadCount(options);
  const int level = static_cast<int>(options.Number("level", 1));
  std::vector<Worker> workers(threads);
  std::atomic<uint64_t> end{0};
  workbench::RunCrew(threads, blocks.size(), [&](unsigned worker, uint64_t index) {
    const auto [bytes, length] = workers[worker].Encode(base, next, blocks[index], level);
    out.Write(bytes, length, end.fetch_add(length));
  });
  std::printf("%llu\n", static_cast<unsigned long long>(end.load()));
}
