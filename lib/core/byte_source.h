// Bytes that can be read again from any place: what is sent to a store, where an attempt may have to be repeated.
#pragma once

#include <cstring>
#include <functional>
#include <optional>

#include "core/digest.h"
#include "core/file.h"
#include "core/stop.h"

namespace wdelta {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual uint64_t size() const = 0;
  virtual Result<> ReadAt(uint64_t offset, MutableByteSpan out) const = 0;
  // The SHA-256 of all of it, if the source knows it from when the bytes were written or checked. A store that needs
  // the digest then does not read everything once more.
  virtual std::optional<Sha256Digest> sha256() const { return std::nullopt; }
};

// Bytes in memory; they must outlive it.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(ByteSpan bytes, std::optional<Sha256Digest> sha256 = {}) : bytes_(bytes), sha256_(sha256) {}
  uint64_t size() const override { return bytes_.size(); }
  Result<> ReadAt(uint64_t offset, MutableByteSpan out) const override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset) {
      return Error{ErrorKind::kIntegrity, "ends too early"};
    }
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return {};
  }
  std::optional<Sha256Digest> sha256() const override { return sha256_; }

 private:
  ByteSpan bytes_;
  std::optional<Sha256Digest> sha256_;
};

// Part of a file; the file must outlive it.
class FileSlice final : public ByteSource {
 public:
  FileSlice(const File& file, uint64_t offset, uint64_t bytes, std::optional<Sha256Digest> sha256 = {})
      : file_(file), offset_(offset), bytes_(bytes), sha256_(sha256) {}
  uint64_t size() const override { return bytes_; }
  Result<> ReadAt(uint64_t offset, MutableByteSpan out) const override { return file_.ReadAt(offset_ + offset, out); }
  std::optional<Sha256Digest> sha256() const override { return sha256_; }

 private:
  const File& file_;
  uint64_t offset_, bytes_;
  std::optional<Sha256Digest> sha256_;
};

// Hands all bytes of `source` to `take`, piece by piece, until a stop.
Result<> ForEachPiece(const ByteSource& source, const std::function<Result<>(ByteSpan piece)>& take,
                      const StopToken& stop = {});

// The SHA-256 of `source`: the one that it knows, else computed by reading all of it, until a stop.
Result<Sha256Digest> DigestSource(const ByteSource& source, const StopToken& stop);

// Bytes on their way into files whose headers are not known yet, in a file without a name.
class ByteSpool {
 public:
  explicit ByteSpool(const Environment& environment) : environment_(environment) {}
  Result<> Append(ByteSpan bytes);
  uint64_t size() const { return size_; }
  void CutBack(uint64_t size) { size_ = size; }
  // Hands on the bytes from `begin` to `end`.
  Result<> CopyTo(uint64_t begin, uint64_t end, const std::function<Result<>(ByteSpan piece)>& take) const;

 private:
  Environment environment_;
  std::optional<File> file_;
  uint64_t size_ = 0;
};

}  // namespace wdelta
