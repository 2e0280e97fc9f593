#include "checkpoint/checkpoint_editor.h"

#include <mutex>

namespace wdelta {

struct CheckpointEditor::Files {
  // Files are opened when they are first written to, and few stay open: there may be thousands.
  static constexpr size_t kMaxOpen = 64;

  Layout layout;
  std::string final_path, temporary;
  bool as_folder = true, durable = true, committed = false;

  std::mutex mutex;
  std::vector<std::shared_ptr<const File>> open;  // by file number
  size_t open_count = 0;

  ~Files() {
    if (!committed) RemoveTree(temporary);
  }

  std::string PathOf(size_t file) const { return as_folder ? temporary + "/" + layout.file(file).path : temporary; }

  Result<std::shared_ptr<const File>> Get(size_t file) {
    const std::lock_guard lock(mutex);
    if (!open[file]) {
      if (open_count >= kMaxOpen) {
        for (auto& each : open) each.reset();
        open_count = 0;
      }
      WD_ASSIGN(File opened, File::OpenForUpdate(PathOf(file)));
      open[file] = std::make_shared<const File>(std::move(opened));
      ++open_count;
    }
    return open[file];
  }

  Result<> CreateFiles() {
    if (as_folder) WD_TRY(CreateFolder(temporary));
    for (size_t file = 0; file < layout.file_count(); ++file) {
      const LayoutFile& entry = layout.file(file);
      if (as_folder) WD_TRY(CreateFolders(ParentFolder(PathOf(file))));
      WD_ASSIGN(const File created, File::CreateNew(PathOf(file)));
      WD_TRY(created.Resize(entry.bytes + entry.data_bytes));
    }
    return {};
  }

  Result<> SyncAll() {
    for (size_t file = 0; file < layout.file_count(); ++file) {
      WD_ASSIGN(const auto opened, Get(file));
      WD_TRY(opened->Sync());
    }
    if (!as_folder) return {};
    WD_TRY(WalkTree(temporary, [&](const std::string& path, EntryKind kind) -> Result<bool> {
      if (kind == EntryKind::kFolder) WD_TRY(SyncFolder(temporary + "/" + path));
      return true;
    }));
    return SyncFolder(temporary);
  }
};

CheckpointEditor::CheckpointEditor(std::unique_ptr<Files> files) : files_(std::move(files)) {}
CheckpointEditor::CheckpointEditor(CheckpointEditor&&) noexcept = default;
CheckpointEditor::~CheckpointEditor() = default;

Result<CheckpointEditor> CheckpointEditor::Create(const std::string& path, const Layout& layout, bool durable) {
  auto files = std::make_unique<Files>();
  const bool is_folder = IsFolder(path);
  files->as_folder = !layout.lone_file || is_folder || path.ends_with('/');
  if (files->as_folder && PathExists(path) && !IsEmptyFolder(path)) {
    return Error{ErrorKind::kRefused, "'" + path + "' exists" + (is_folder ? " and is not empty" : " and is no folder"),
                 "remove it, or name another output"}
        .At(path);
  }
  files->layout = layout;
  files->final_path = path;
  files->temporary = TemporaryNameBeside(path);
  files->durable = durable;
  files->open.resize(layout.file_count());
  WD_TRY(files->CreateFiles());
  return CheckpointEditor(std::move(files));
}

Result<> CheckpointEditor::WriteFileBlock(size_t file, uint64_t number, ByteSpan content) {
  WD_ASSIGN(const auto opened, files_->Get(file));
  return opened->WriteAt(number * kBlockBytes, content);
}

Result<> CheckpointEditor::WriteTensor(const Tensor& tensor, uint64_t at, ByteSpan content) {
  WD_ASSIGN(const auto opened, files_->Get(tensor.shard));
  return opened->WriteAt(tensor.offset + at, content);
}

Result<> CheckpointEditor::Commit() {
  if (files_->durable) WD_TRY(files_->SyncAll());
  std::string path = files_->final_path;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  WD_TRY(Rename(files_->temporary, path, files_->durable));
  files_->committed = true;
  return {};
}

}  // namespace wdelta
