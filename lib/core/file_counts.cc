#include "core/file_counts.h"

namespace wdelta {

namespace {

void AddTo(FileCount& sum, const FileCount& more) {
  sum.opened += more.opened;
  sum.read += more.read;
  sum.written += more.written;
}

}  // namespace

FileCount FileCounts::Of(std::string_view part) const {
  const std::lock_guard lock(mutex_);
  FileCount sum;
  for (const auto& [path, count] : files_) {
    if (path.find(part) != std::string::npos) AddTo(sum, count);
  }
  return sum;
}

std::map<std::string, FileCount> FileCounts::All() const {
  const std::lock_guard lock(mutex_);
  return files_;
}

void FileCounts::Forget() {
  const std::lock_guard lock(mutex_);
  files_.clear();
}

void FileCounts::Count(const std::string& path, const FileCount& more) {
  const std::lock_guard lock(mutex_);
  AddTo(files_[path], more);
}

}  // namespace wdelta
