// What a store of versions for other systems holds in a few bytes: the pointer, and the index of a version. What is
// understood must be written and understood again as the same; a version that was put in comes out again.
#include <cstdlib>

#include "canonical/version.h"
#include "core/bytes.h"
#include "foreign/canonical_index.h"

using namespace wdelta;  // NOLINT(google-build-using-namespace): a program, and all of it is about the library

namespace {

void TryPointer(std::string_view text) {
  const Result<VersionPointer> pointer = ParsePointer(text);
  if (!pointer.ok()) {
    if (pointer.error().kind != ErrorKind::kIntegrity) std::abort();
    return;
  }
  if (pointer->version > kMaxVersion) std::abort();
  // An empty name before a slash is written without the slash.
  const Result<VersionPointer> again = ParsePointer(PointerText(*pointer));
  if (!again.ok() || *again != *pointer) std::abort();
}

void TryIndex(std::string_view text) {
  const Result<CanonicalIndex> index = ReadCanonicalIndex(text);
  if (!index.ok() && index.error().kind != ErrorKind::kIntegrity) std::abort();
  if (index.ok() && index->Shards().size() > index->weight_map.size()) std::abort();
  const Result<std::string> with = WithVersion(text, "000042"), plain = WithoutVersion(text);
  if (with.ok() != plain.ok()) std::abort();
  if (!with.ok()) {
    if (with.error().kind != ErrorKind::kIntegrity || plain.error().kind != ErrorKind::kIntegrity) std::abort();
    return;
  }
  const Result<std::string> without = WithoutVersion(*with), again = WithVersion(*with, "000042");
  if (!without.ok() || *without != *plain || !again.ok() || *again != *with) std::abort();
  if (!index.ok()) return;  // an object, and no index
  const Result<CanonicalIndex> marked = ReadCanonicalIndex(*with);
  if (!marked.ok() || marked->Value("version") != "000042" || marked->weight_map != index->weight_map) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = AsText({data, size});
  TryPointer(text);
  TryIndex(text);
  if (const auto version = VersionOfFolder(text); version && VersionFolder(*version) != text) std::abort();
  return 0;
}
