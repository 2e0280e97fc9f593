#include "core/byte_source.h"

#include <algorithm>

namespace wdelta {

Result<Sha256Digest> DigestSource(const ByteSource& source, const StopToken& stop) {
  if (const std::optional<Sha256Digest> known = source.sha256()) return *known;
  Sha256 sha256;
  Bytes piece(std::min<uint64_t>(source.size(), 1 << 20));
  for (uint64_t done = 0; done < source.size(); done += piece.size()) {
    WD_TRY(stop.Check());
    const MutableByteSpan part = MutableByteSpan(piece).first(std::min<uint64_t>(piece.size(), source.size() - done));
    WD_TRY(source.ReadAt(done, part));
    sha256.Update(part);
  }
  return sha256.Finish();
}

}  // namespace wdelta
