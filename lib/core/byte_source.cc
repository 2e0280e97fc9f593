#include "core/byte_source.h"

#include <algorithm>

namespace wdelta {

Result<> ForEachPiece(const ByteSource& source, const std::function<Result<>(ByteSpan piece)>& take,
                      const StopToken& stop) {
  Bytes piece(std::min<uint64_t>(source.size(), 256 << 10));
  for (uint64_t done = 0; done < source.size(); done += piece.size()) {
    WD_TRY(stop.Check());
    const MutableByteSpan part = MutableByteSpan(piece).first(std::min<uint64_t>(piece.size(), source.size() - done));
    WD_TRY(source.ReadAt(done, part));
    WD_TRY(take(part));
  }
  return {};
}

Result<Sha256Digest> DigestSource(const ByteSource& source, const StopToken& stop) {
  if (const std::optional<Sha256Digest> known = source.sha256()) return *known;
  Sha256 sha256;
  WD_TRY(ForEachPiece(source, sha256.Taker(), stop));
  return sha256.Finish();
}

Result<> ByteSpool::Append(ByteSpan bytes) {
  if (!file_) {
    WD_ASSIGN(file_, File::CreateUnnamed(environment_));
  }
  WD_TRY(file_->WriteAt(size_, bytes));
  size_ += bytes.size();
  return {};
}

Result<> ByteSpool::CopyTo(uint64_t begin, uint64_t end, const std::function<Result<>(ByteSpan piece)>& take) const {
  if (begin == end) return {};
  return ForEachPiece(FileSlice(*file_, begin, end - begin), take);
}

}  // namespace wdelta
