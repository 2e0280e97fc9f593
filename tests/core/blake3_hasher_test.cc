#include "core/blake3_hasher.h"

#include <doctest/doctest.h>

#include "core/digest.h"

namespace wdelta {

TEST_CASE("BLAKE3 of bytes in pieces is what its authors have for them, or nothing at all in a build without it") {
  const std::string text(3000, 'a');
  Blake3Hasher empty, whole, pieces;
  whole.Update(AsBytes(text));
  for (size_t at = 0; at < text.size(); at += 750) pieces.Update(AsBytes(text).subspan(at, 750));
  CHECK(pieces.Finish() == whole.Finish());
  const bool there = !Blake3Hasher::LibraryVersion().empty();
  CHECK(Hex(empty.Finish()) ==
        (there ? "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262" : std::string(64, '0')));
  CHECK((whole.Finish() == empty.Finish()) == !there);
}

}  // namespace wdelta
