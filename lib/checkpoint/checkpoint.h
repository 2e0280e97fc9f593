// A checkpoint on disk: its tensors by name, wherever they lie, and its layout. This header is what the room hands on;
// it brings along identity, layout and the safetensors format.
//
// Opening reads headers and companions, never tensor data. Reading is by pread, so that a network file system that
// fails gives an error and not a signal. All reads may be made from several threads at once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/folder.h"
#include "checkpoint/identity.h"
#include "checkpoint/layout.h"
#include "checkpoint/safetensors.h"
#include "core/file.h"

namespace wdelta {

// A block is at most this much of one tensor: the unit of comparing, coding, checksums and parallel work. The format
// fixes it, so that block digests mean the same everywhere.
inline constexpr uint64_t kBlockBytes = uint64_t{1} << 20;

inline uint64_t BlockCount(uint64_t bytes) {
  return bytes / kBlockBytes + (bytes % kBlockBytes != 0);
}
inline size_t BlockLength(uint64_t bytes, uint64_t block) {
  return static_cast<size_t>(std::min(kBlockBytes, bytes - block * kBlockBytes));
}

// A tensor of an open checkpoint; its views live as long as the checkpoint.
struct Tensor {
  std::string_view name;
  std::span<const uint64_t> shape;
  uint64_t offset = 0, bytes = 0;  // in the file of its shard
  uint32_t shard = 0;
  Dtype dtype = Dtype::kU8;

  uint64_t units() const { return bytes / UnitBytes(dtype); }
  bool SameForm(const Tensor& other) const {
    return dtype == other.dtype && std::equal(shape.begin(), shape.end(), other.shape.begin(), other.shape.end());
  }
};

// The tensors of these headers by name; their shards are numbered as the headers are. kIntegrity if a name is in two.
Result<std::vector<Tensor>> CollectTensors(std::span<const SafetensorsHeader> headers, const Layout& layout);

// Indices into `tensors` in the order in which the data lie: shard by shard, front to back.
std::vector<uint32_t> FileOrder(std::span<const Tensor> tensors);

// The tensor of that name in a list by name, or null.
const Tensor* FindTensor(std::span<const Tensor> tensors, std::string_view name);

class Checkpoint {
 public:
  // Opens a .safetensors file or a folder. Things worth telling go to `note`.
  static Result<Checkpoint> Open(const std::string& path, const FileChoice& choice, const NoteSink& note);

  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;
  ~Checkpoint();

  const std::string& path() const { return path_; }
  const Layout& layout() const { return layout_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }  // by name
  const Tensor* Find(std::string_view name) const { return FindTensor(tensors_, name); }
  uint64_t data_bytes() const;  // of all tensors

  const SafetensorsHeader& header(size_t shard) const { return headers_[shard]; }
  std::string ShardPath(size_t shard) const;

  // Up to a block of a file of the layout, shards first: of a shard its header, of a companion all of it.
  Result<Bytes> ReadFileBlock(size_t file, uint64_t number) const;

  // Fills `out` with the tensor's bytes from `at` on.
  Result<> Read(const Tensor& tensor, uint64_t at, MutableByteSpan out) const;

  // kConflict if a file is no longer the one that was opened: replaced, resized or written to.
  Result<> CheckUnchanged() const;

 private:
  Checkpoint();
  Result<> OpenShards(const std::vector<std::string>& names);
  Result<> OpenCompanions(const std::vector<std::string>& paths);
  Result<> CheckIndex(const std::string& index, const NoteSink& note) const;

  std::string path_;
  Layout layout_;
  std::vector<SafetensorsHeader> headers_;
  std::vector<Tensor> tensors_;
  struct OpenFiles;
  std::unique_ptr<OpenFiles> files_;
};

}  // namespace wdelta
