#include "delta/tensor_delta.h"
#include "support/expect.h"

namespace wdelta {
namespace {

// What PatchBlock says to a delta for eight bytes of zeros; nothing may be written when it fails.
Result<> Patch(const BlockDelta& delta, unsigned unit) {
  Bytes block(8, 0);
  Result<> patched = PatchBlock(delta, unit, block);
  if (!patched.ok()) CHECK(block == Bytes(8, 0));
  return patched;
}

TEST_CASE("a patch puts new values where its positions say") {
  Bytes block = {1, 2, 3, 4, 5, 6, 7, 8};
  REQUIRE_OK(PatchBlock({false, {0, 3}, {9, 9, 8, 8}}, 2, block));
  CHECK(block == Bytes{9, 9, 3, 4, 5, 6, 8, 8});
  REQUIRE_OK(PatchBlock({false, {}, {}}, 2, block));
  CHECK(block == Bytes{9, 9, 3, 4, 5, 6, 8, 8});
  REQUIRE_OK(PatchBlock({true, {}, Bytes(8, 7)}, 2, block));
  CHECK(block == Bytes(8, 7));
}

TEST_CASE("of two patches the later one wins") {
  Bytes block(4, 0);
  REQUIRE_OK(PatchBlock({false, {1, 2}, {1, 1}}, 1, block));
  REQUIRE_OK(PatchBlock({false, {2, 3}, {2, 2}}, 1, block));
  CHECK(block == Bytes{0, 1, 2, 2});
}

TEST_CASE("a patch that does not fit is refused before anything is written") {
  CHECK_FAILS(Patch({false, {0, 4}, {1, 1, 1, 1}}, 2), ErrorKind::kIntegrity, "outside the block");
  CHECK_FAILS(Patch({false, {0, ~0u}, {1, 1}}, 1), ErrorKind::kIntegrity, "outside the block");
  CHECK_FAILS(Patch({false, {0, 2, 2}, {1, 1, 1}}, 1), ErrorKind::kIntegrity, "out of order");
  CHECK_FAILS(Patch({false, {0, 3, 2}, {1, 1, 1}}, 1), ErrorKind::kIntegrity, "out of order");
  CHECK_FAILS(Patch({false, {0, 1}, {1, 1, 1}}, 2), ErrorKind::kIntegrity, "as many values");
  CHECK_FAILS(Patch({true, {}, Bytes(7, 1)}, 1), ErrorKind::kIntegrity, "another length");
  CHECK_FAILS(Patch({true, {0}, Bytes(8, 1)}, 1), ErrorKind::kIntegrity, "another length");
}

}  // namespace
}  // namespace wdelta
