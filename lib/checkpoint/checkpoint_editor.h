// A new checkpoint on its way to disk. It grows under a temporary name beside its own and gets that in Commit, so it is
// there whole or not at all; destroyed before, it leaves nothing behind.
#pragma once

#include <memory>
#include <string>

#include "checkpoint/checkpoint.h"

namespace wdelta {

class CheckpointEditor {
 public:
  // Prepares the files of `layout`. A lone file is written to `path` itself and replaces what is there; a folder must
  // be absent or empty (kRefused). A lone file becomes a folder with one shard if `path` ends in a slash or is a
  // folder.
  static Result<CheckpointEditor> Create(const std::string& path, const Layout& layout, bool durable);

  CheckpointEditor(CheckpointEditor&&) noexcept;
  CheckpointEditor& operator=(CheckpointEditor&&) = delete;
  ~CheckpointEditor();

  // Both may be called from several threads at once, for different places.
  Result<> WriteFileBlock(size_t file, uint64_t number, ByteSpan content);
  Result<> WriteTensor(const Tensor& tensor, uint64_t at, ByteSpan content);

  // Makes everything durable, if asked to, and gives it its name.
  Result<> Commit();

 private:
  struct Files;
  explicit CheckpointEditor(std::unique_ptr<Files> files);
  std::unique_ptr<Files> files_;
};

}  // namespace wdelta
