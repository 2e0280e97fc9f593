// Deltas in the formats of other systems. None of them says as much as ours: not what the base was, not what did not
// change, not how the files look. A walk (foreign_target.h) finds that out from the base that is at hand, and compares
// whatever checksums the delta has with what it makes.
//
// A reader lists the tensors that a delta touches, and gives for each a stream that makes the new bytes of the tensor
// from the old ones, block by block, front to back. Each format has a file of its own; foreign.cc has the table.
// wdelta-formats(5) describes them for users.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pack/container.h"

namespace wdelta {

// What proves the new bytes of a tensor.
enum class ForeignChecksum { kNone, kXxh3_128, kAdler32, kSha256, kBlake3 };

struct ForeignTensor {
  std::string name;
  std::optional<Dtype> dtype{};  // as far as the format says
  std::optional<std::vector<uint64_t>> shape{};
  ForeignChecksum checksum_kind = ForeignChecksum::kNone;
  std::string checksum{};  // of all its new bytes, in lower-case hexadecimal
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

  const std::string& kind() const { return kind_; }  // "canonical delta", "TRL patch"
  const std::string& path() const { return path_; }
  uint64_t bytes() const { return bytes_; }                               // of all its files
  const std::vector<ForeignTensor>& tensors() const { return tensors_; }  // by name, each once
  // What it calls its result and its base; empty: it does not say.
  const std::string& version() const { return version_; }
  const std::string& base_version() const { return base_version_; }

  // A stream for tensors()[index], which the base has in this form; its failures name the delta, which must outlive it,
  // and the tensor. kConflict if the delta says another form. May be called from several threads at once.
  Result<std::unique_ptr<ForeignStream>> Open(size_t index, Dtype dtype, std::span<const uint64_t> shape) const;

 protected:
  ForeignDelta(std::string kind, std::string path) : kind_(std::move(kind)), path_(std::move(path)) {}

  virtual Result<std::unique_ptr<ForeignStream>> OpenStream(size_t index, Dtype dtype,
                                                            std::span<const uint64_t> shape) const = 0;

  // "'x' is a malformed TRL patch: why", also of one of its tensors.
  Error Wrong(const std::string& why) const;
  Error Wrong(std::string_view tensor, const std::string& why) const;
  // kRefused, for what is right but not supported.
  Error Refusal(const std::string& why, const std::string& hint) const;
  // The failure of a part of this delta, told as one of the delta.
  template <class T>
  Result<T> Named(const std::string& part, Result<T> result) const {
    if (result.ok() || result.error().kind != ErrorKind::kIntegrity || !result.error().path.empty()) return result;
    return Wrong(part + result.error().message);
  }
  // Sorts the parts of a delta by their names, and lists their tensors beside them.
  template <class Part>
  Result<> ListTensors(std::vector<Part>& parts) {
    std::ranges::sort(parts, {}, &Part::name);
    for (const Part& part : parts) {
      if (!tensors_.empty() && tensors_.back().name == part.name) return Wrong(part.name, "it is there twice");
      tensors_.push_back({.name = part.name, .dtype = part.dtype, .shape = part.shape});
    }
    return {};
  }

  const std::string kind_, path_;
  uint64_t bytes_ = 0;
  std::vector<ForeignTensor> tensors_;
  std::string version_, base_version_;

 private:
  class NamedStream;
  Result<> CheckForm(const ForeignTensor& tensor, Dtype dtype, std::span<const uint64_t> shape) const;
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

// The rows of the table: each is asked whether it looks like its own, and opens it.
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

// How each of them does it: `Format` is a ForeignDelta with a function Read.
template <class Format>
Result<std::unique_ptr<ForeignDelta>> OpenAs(const std::string& path, const Environment& environment) {
  auto delta = std::make_unique<Format>(path, environment);
  WD_TRY(delta->Read());
  return std::unique_ptr<ForeignDelta>(std::move(delta));
}

}  // namespace wdelta
