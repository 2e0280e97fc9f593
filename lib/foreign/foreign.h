// Deltas in the formats of other systems. None of them says as much as ours: not what the base was, not what did not
// change, not how the files look. A walk (foreign_target.h) finds that out from the base that is at hand, and compares
// whatever checksums the delta has with what it makes.
//
// A reader lists the tensors that a delta touches, and gives for each a stream that makes the new bytes of the tensor
// from the old ones, block by block, front to back. Each format has a file of its own; open_foreign.cc has the table.
// wdelta-formats(5) describes them for users.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/file.h"
#include "pack/container.h"

namespace wdelta {

// What proves the new bytes of a tensor.
enum class ForeignChecksum { kNone, kXxh3_128, kAdler32, kSha256, kBlake3 };

struct ForeignTensor {
  std::string name;
  std::optional<Dtype> dtype;  // as far as the format says
  std::optional<std::vector<uint64_t>> shape;
  ForeignChecksum checksum_kind = ForeignChecksum::kNone;
  std::string checksum;  // of all its new bytes, in lower-case hexadecimal
};

// Patches one tensor. For one thread.
class ForeignStream {
 public:
  virtual ~ForeignStream() = default;
  // `block` holds the next old bytes of the tensor, and the new ones afterwards. kIntegrity for a delta that does not
  // fit.
  virtual Result<> Apply(MutableByteSpan block) = 0;
  // After the last block: kIntegrity if something is left over.
  virtual Result<> End() = 0;
};

class ForeignDelta {
 public:
  virtual ~ForeignDelta() = default;

  virtual std::string_view kind() const = 0;  // "canonical delta", "TRL patch"
  const std::string& path() const { return path_; }
  uint64_t bytes() const { return bytes_; }                               // of all its files
  const std::vector<ForeignTensor>& tensors() const { return tensors_; }  // by name, each once
  // What it calls its result and its base; empty: it does not say.
  const std::string& version() const { return version_; }
  const std::string& base_version() const { return base_version_; }

  // A stream for tensors()[index], which the base has in this form. Fails if the delta cannot be of such a tensor.
  // May be called from several threads at once.
  virtual Result<std::unique_ptr<ForeignStream>> Open(size_t index, Dtype dtype,
                                                      std::span<const uint64_t> shape) const = 0;

 protected:
  std::string path_;
  uint64_t bytes_ = 0;
  std::vector<ForeignTensor> tensors_;
  std::string version_, base_version_;
};

// Opens a delta of any known foreign format, told by its content. Reads what describes it, and checks that. What has to
// be unpacked for that lies in a temporary file of `environment`.
Result<std::unique_ptr<ForeignDelta>> OpenForeign(const std::string& path, const Environment& environment);
// Whether a file or folder is one: by the first look, without checking it.
bool LooksForeign(const std::string& path);
// Whether it is a delta of any format, ours or a foreign one. Only deltas come by standard input ("-").
Result<bool> LooksLikeAnyDelta(const std::string& path);
// Opens a delta of ours. Says of a foreign one how it can be read.
Result<std::unique_ptr<DeltaReader>> OpenOwnDelta(const std::string& path, Trust trust, const Context& context);

// The rows of that table: each is asked whether it looks like its own, and opens it.
bool LooksLikeCanonical(const std::string& path);
bool LooksLikeSkyrl(const std::string& path);
bool LooksLikeTrl(const std::string& path);
bool LooksLikeGrail(const std::string& path);
bool LooksLikePrime(const std::string& path);
Result<std::unique_ptr<ForeignDelta>> OpenCanonical(const std::string& path, const Environment& environment);
Result<std::unique_ptr<ForeignDelta>> OpenSkyrl(const std::string& path, const Environment& environment);
Result<std::unique_ptr<ForeignDelta>> OpenTrl(const std::string& path, const Environment& environment);
Result<std::unique_ptr<ForeignDelta>> OpenGrail(const std::string& path, const Environment& environment);
Result<std::unique_ptr<ForeignDelta>> OpenPrime(const std::string& path, const Environment& environment);

// ---- What several formats share -------------------------------------------------------------------------------------

// Positions and new values of changed elements, from two places that are read front to back: what TRL, grail and
// prime-rl send. Positions must rise and lie in the tensor (kIntegrity).
class PositionSource {
 public:
  virtual ~PositionSource() = default;
  virtual Result<std::optional<uint64_t>> Next() = 0;  // the position of the next element; absent at the end
};
// A stream that puts `values` (a ByteFeed of `unit` bytes each) at the positions. `units`: elements of the tensor.
class ByteFeed {
 public:
  virtual ~ByteFeed() = default;
  virtual Result<> Read(MutableByteSpan out) = 0;  // the next bytes; kIntegrity if there are fewer
  virtual uint64_t left() const = 0;               // bytes
};
std::unique_ptr<ForeignStream> OverwriteStream(std::unique_ptr<PositionSource> positions,
                                               std::unique_ptr<ByteFeed> values, unsigned unit, uint64_t units);

// Part of a file, buffered.
std::unique_ptr<ByteFeed> FilePart(std::shared_ptr<const File> file, uint64_t begin, uint64_t end);

// "'x' is no TRL patch: why", with the path.
Error ForeignError(std::string_view kind, const std::string& path, const std::string& why);
// The same, kRefused, for what is right but not supported.
Error ForeignRefusal(std::string_view kind, const std::string& path, const std::string& why, const std::string& hint);

}  // namespace wdelta
