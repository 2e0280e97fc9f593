// The limit: what any comparison of two files must cost. Reads both with pread in pieces of 256 KiB and ORs the XOR of
// every byte, on N threads. Prints whether they differ.
//
//   limit [--threads N] A B
#include <algorithm>

#include "workbench.h"

namespace {

constexpr uint64_t kPiece = 256 * 1024;

uint64_t OrOfXor(const unsigned char* left, const unsigned char* right, size_t length) {
  uint64_t seen = 0;
  size_t i = 0;
  for (; i + 8 <= length; i += 8) {
    uint64_t a, b;
    std::memcpy(&a, left + i, 8);
    std::memcpy(&b, right + i, 8);
    seen |= a ^ b;
  }
  for (; i < length; ++i) seen |= static_cast<uint64_t>(left[i] ^ right[i]);
  return seen;
}

}  // namespace

int main(int argc, char** argv) {
  const workbench::Options options(argc, argv, {"threads"}, {});
  if (options.words().size() != 2) workbench::Die("usage: limit [--threads N] A B");
  const workbench::OpenFile left(options.words()[0], O_RDONLY), right(options.words()[1], O_RDONLY);
  const uint64_t size = left.Size();
  if (right.Size() != size) workbench::Die("the files differ in size");

  const unsigned threads = workbench::ThreadCount(options);
  struct Scratch {
    workbench::PageBuffer left{kPiece}, right{kPiece};
    uint64_t seen = 0;
  };
  std::vector<Scratch> scratch(threads);
  workbench::RunCrew(threads, (size + kPiece - 1) / kPiece, [&](unsigned worker, uint64_t index) {
    Scratch& mine = scratch[worker];
    const uint64_t at = index * kPiece;
    const size_t length = static_cast<size_t>(std::min(kPiece, size - at));
    left.Read(mine.left.For(at), length, at);
    right.Read(mine.right.For(at), length, at);
    mine.seen |= OrOfXor(mine.left.For(at), mine.right.For(at), length);
  });
  uint64_t seen = 0;
  for (const Scratch& each : scratch) seen |= each.seen;
  std::puts(seen == 0 ? "same" : "different");
}
