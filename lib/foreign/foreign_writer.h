// Writing deltas in the formats of other systems. All of them say tensor by tensor what changed, need all of a tensor
// for its checksum, and know the length of a frame only when it is done: so what is written is spooled, and put into
// its files at the end, the one that announces the others last.
#pragma once

#include <memory>
#include <string>

#include "foreign/foreign_parts.h"
#include "walk/difference.h"

namespace wdelta {

// The choices of the formats. SkyRL takes the versions as numbers.
struct ForeignOptions {
  bool overwrite = false;   // canonical: positions and values instead of XOR
  bool newer_keys = false;  // TRL: as its second and third version name the parts
  ForeignChecksum checksum = ForeignChecksum::kXxh3_128;
  std::string version = "000001", base_version = "000000";
  Environment environment{};  // where temporary files go
};

class ForeignWriter {
 public:
  virtual ~ForeignWriter() = default;
  // Can the format say a change of this tensor? kRefused if not, and which format can; then it is not given to the
  // others.
  virtual Result<> Check(const Tensor& tensor) const = 0;
  // Each other tensor in the order of the result's files, with all its blocks, changed or not.
  virtual Result<> Begin(const Tensor& tensor) = 0;
  virtual Result<> Add(ByteSpan old_block, ByteSpan new_block) = 0;
  virtual Result<> End() = 0;
  // The files get their names. `totals` is of the whole difference.
  virtual Result<> Finish(const Totals& totals) = 0;
  uint64_t written() const { return written_; }

 protected:
  uint64_t written_ = 0;
};

// `path` is a folder that does not exist yet, or of TRL a file.
std::unique_ptr<ForeignWriter> CreateCanonical(const std::string& path, const ForeignOptions& options);
std::unique_ptr<ForeignWriter> CreateSkyrl(const std::string& path, const ForeignOptions& options);
std::unique_ptr<ForeignWriter> CreateTrl(const std::string& path, const ForeignOptions& options);

struct Exported {
  Totals totals;
  StateDigests base, result;
  uint64_t bytes = 0;
};

// Writes what changed between `base` and `target`. Whatever the format (its name is for messages) cannot say is refused
// before anything is written: tensors that were added, removed, reshaped or retyped. Files beside the weights have no
// place in any of them, which a note says.
Result<Exported> ExportDelta(const Checkpoint& base, Target& target, const std::string& format, ForeignWriter& writer,
                             const Context& context);

// One frame in a spool, with what is to be said about it.
struct SpooledFrame {
  std::string name{}, checksum{};
  Dtype dtype = Dtype::kU8;
  std::vector<uint64_t> shape{};
  uint64_t tensor_bytes = 0, begin = 0, end = 0;
};

// The frames of canonical and SkyRL deltas, tensor by tensor.
class FrameSpool {
 public:
  FrameSpool(bool overwrite, ForeignChecksum checksum, const Environment& environment)
      : overwrite_(overwrite),
        checksum_(checksum),
        spool_(environment),
        positions_(environment),
        values_(environment) {}
  Result<> Begin(const Tensor& tensor);
  Result<> Add(ByteSpan old_block, ByteSpan new_block);
  Result<> End();  // a tensor that did not change leaves nothing
  const std::vector<SpooledFrame>& frames() const { return frames_; }
  // A safetensors file of the frames `first` to `last` - 1; with their checksums as metadata, if wanted.
  Result<uint64_t> WriteShard(const std::string& path, size_t first, size_t last, bool with_checksums) const;
  // How many frames from `first` on go into one file of about `most` bytes.
  size_t FramesIn(size_t first, uint64_t most) const;

 private:
  Result<> EndOverwrite();

  bool overwrite_;
  ForeignChecksum checksum_;
  ByteSpool spool_, positions_, values_;
  std::vector<SpooledFrame> frames_;
  SpooledFrame current_;
  std::unique_ptr<ZstdSink> sink_;
  std::unique_ptr<ForeignHasher> hasher_;
  Bytes work_;
  uint64_t passed_ = 0;
  bool changed_ = false;
};

}  // namespace wdelta
