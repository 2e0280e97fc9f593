// The other end of the peer: rebuilds NEW from BASE and what xor_zstd wrote, into a file of its own, with the checksums
// of the old and of the new block compared. Everything outside the tensors, the header, is taken from BASE.
//
//   xor_unzstd [--threads N] BASE FRAMES OUT
#include <xxhash.h>
#include <zstd.h>

#include "tensor_blocks.h"

namespace {

using workbench::kBlock;

// As xor_zstd writes it.
struct FrameHead {
  uint64_t at, length;
  XXH128_hash_t before, after;
  uint64_t frame_length;
};

struct Frame {
  FrameHead head;
  uint64_t at;  // of its bytes, in FRAMES
};

std::vector<Frame> ReadHeads(const workbench::OpenFile& file) {
  std::vector<Frame> frames;
  const uint64_t size = file.Size();
  for (uint64_t at = 0; at < size;) {
    Frame frame;
    file.Read(&frame.head, sizeof frame.head, at);
    frame.at = at + sizeof frame.head;
    if (frame.head.length > kBlock || frame.head.frame_length > size - frame.at) workbench::Die("a damaged frame");
    at = frame.at + frame.head.frame_length;
    frames.push_back(frame);
  }
  return frames;
}

class Worker {
 public:
  Worker() : base_(kBlock), xor_(kBlock), frame_(ZSTD_compressBound(kBlock)) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { ZSTD_freeDCtx(context_); }

  void Decode(const workbench::OpenFile& base, const workbench::OpenFile& frames, const workbench::OpenFile& out,
              const Frame& frame) {
    const FrameHead& head = frame.head;
    unsigned char* const bytes = base_.For(head.at);
    unsigned char* const change = xor_.For(head.at);
    base.Read(bytes, head.length, head.at);
    if (!XXH128_isEqual(XXH3_128bits(bytes, head.length), head.before)) workbench::Die("this is not the base");
    if (head.frame_length > frame_.size()) workbench::Die("a damaged frame");
    frames.Read(frame_.data(), head.frame_length, frame.at);
    if (ZSTD_decompressDCtx(context_, change, head.length, frame_.data(), head.frame_length) != head.length) {
      workbench::Die("a damaged frame");
    }
    for (size_t i = 0; i < head.length; ++i) bytes[i] ^= change[i];
    if (!XXH128_isEqual(XXH3_128bits(bytes, head.length), head.after)) workbench::Die("the result is wrong");
    out.Write(bytes, head.length, head.at);
  }

 private:
  workbench::PageBuffer base_, xor_;
  std::vector<char> frame_;
  ZSTD_DCtx* context_ = ZSTD_createDCtx();
};

}  // namespace

int main(int argc, char** argv) {
  const workbench::Options options(argc, argv, {"threads"}, {});
  if (options.words().size() != 3) workbench::Die("usage: xor_unzstd [--threads N] BASE FRAMES OUT");
  const workbench::OpenFile base(options.words()[0], O_RDONLY), file(options.words()[1], O_RDONLY);
  const workbench::OpenFile out(options.words()[2], O_WRONLY | O_CREAT | O_TRUNC);
  out.Resize(base.Size());
  uint64_t header = 0;
  base.Read(&header, 8, 0);
  if (header > 100'000'000) workbench::Die("this is no safetensors file");
  std::vector<char> start(8 + header);
  base.Read(start.data(), start.size(), 0);
  out.Write(start.data(), start.size(), 0);

  const std::vector<Frame> frames = ReadHeads(file);
  const unsigned threads = workbench::ThreadCount(options);
  std::vector<Worker> workers(threads);
  workbench::RunCrew(threads, frames.size(),
                     [&](unsigned worker, uint64_t index) { workers[worker].Decode(base, file, out, frames[index]); });
}
