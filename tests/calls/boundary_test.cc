// Nothing that is thrown inside leaves the library.
#include "core/boundary.h"

#include <atomic>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include "core/parallel.h"
#include "support/expect.h"
#include "support/random_checkpoint.h"
#include "wdelta.h"

// What the heap gives away at most in one piece. A limit of the system would depend on what lies free in the heap.
static std::atomic<size_t> largest_piece = SIZE_MAX;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(size_t size) {
  if (size <= largest_piece) {
    if (void* piece = std::malloc(size ? size : 1)) return piece;
  }
  throw std::bad_alloc();
}
void operator delete(void* piece) noexcept {
  std::free(piece);
}
void operator delete(void* piece, size_t) noexcept {
  std::free(piece);
}
#endif

namespace wdelta {
namespace {

void WriteModel(const ScratchFolder& folder, const std::string& name, uint64_t elements) {
  WriteCheckpoint(folder, name, {.shards = {{.tensors = {Ramp("w", elements)}}}});
}

TEST_CASE("what a callback throws becomes the error of the call") {
  const ScratchFolder folder;
  WriteModel(folder, "a", 100);
  folder.Write("a/optimizer.bin", "left out, which is worth a note");
  const auto diff = [&](const std::function<void()>& thrower) {
    Context context;
    context.note = [&](const std::string&) { thrower(); };
    return Diff({.base = folder / "a", .next = folder / "a"}, context);
  };
  REQUIRE_OK(diff([] {}));
  CHECK_FAILS(diff([] { throw std::runtime_error("of a callback"); }), ErrorKind::kLocalIo,
              "unexpected: of a callback");
  CHECK_FAILS(diff([] { throw std::bad_alloc(); }), ErrorKind::kLocalIo, "out of memory");
  CHECK_FAILS(diff([] { throw 42; }), ErrorKind::kLocalIo, "unexpected");
}

TEST_CASE("what is thrown on a thread of a run ends the run, and arrives where it began") {
  for (const unsigned threads : {1U, 4U}) {
    CAPTURE(threads);
    for (const bool at_work : {true, false}) {
      const auto run = [&]() -> Result<> {
        return RunOrdered<int>(
            1000, LimitsFor(threads, {}),
            [&](uint64_t index, unsigned) -> Result<int> {
              if (at_work && index == 20) throw std::runtime_error("at work");
              return 0;
            },
            [&](uint64_t index, int) -> Result<> {
              if (!at_work && index == 20) throw std::runtime_error("handing over");
              return {};
            });
      };
      CHECK_THROWS_AS(static_cast<void>(run()), std::runtime_error);
      CHECK_FAILS(Guarded(run), ErrorKind::kLocalIo, at_work ? "at work" : "handing over");
    }
  }
}

// A sanitizer brings an operator new of its own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("a call that finds no memory says so, and the next one succeeds") {
  const ScratchFolder folder;
  WriteModel(folder, "a", 3 << 20);
  WriteModel(folder, "b", 3 << 20);
  for (const unsigned threads : {1u, 2u, 64u}) {
    const auto pack = [&](const std::string& output) {
      return Pack({.inputs = {folder / "a", folder / "b"}, .output = folder / output}, {.threads = threads});
    };
    largest_piece = 1 << 16;
    const auto refused = pack("x.wdp");
    largest_piece = SIZE_MAX;
    CHECK_FAILS(refused, ErrorKind::kLocalIo, "out of memory");
    REQUIRE_OK(pack("y.wdp"));
  }
}
#endif

}  // namespace
}  // namespace wdelta
