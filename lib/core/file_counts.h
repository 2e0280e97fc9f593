// Counts the bytes that the library reads from files and writes to them, file by file. Tests use it to hold promises
// such as "a push reads its source once"; without a FileCounts alive a read or write costs one load of a pointer.
//
//   FileCounts counts;
//   Push(...);
//   CHECK(counts.Of("/next/").read == model_bytes);
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace wdelta {

struct FileCount {
  uint64_t opened = 0;             // how often
  uint64_t read = 0, written = 0;  // bytes
};

class FileCounts {
 public:
  // Counts from now until it is destroyed. There is at most one at a time.
  FileCounts() { current_.store(this, std::memory_order_release); }
  ~FileCounts() { current_.store(nullptr, std::memory_order_release); }
  FileCounts(const FileCounts&) = delete;
  FileCounts& operator=(const FileCounts&) = delete;

  // The sum over all files whose path, as it was opened, contains `part`. A file that is written under a temporary
  // name counts under that name, which is beside the final one: ".NAME.wdelta-...".
  FileCount Of(std::string_view part = {}) const;
  // Every file by its path, to be printed when a promise is broken.
  std::map<std::string, FileCount> All() const;
  void Forget();

  // The calls of core/file.cc.
  static void Opened(const std::string& path) { Add(path, {.opened = 1}); }
  static void Read(const std::string& path, uint64_t bytes) { Add(path, {.read = bytes}); }
  static void Written(const std::string& path, uint64_t bytes) { Add(path, {.written = bytes}); }

 private:
  static void Add(const std::string& path, const FileCount& more) {
    if (FileCounts* counts = current_.load(std::memory_order_acquire)) counts->Count(path, more);
  }
  void Count(const std::string& path, const FileCount& more);

  inline static std::atomic<FileCounts*> current_ = nullptr;
  mutable std::mutex mutex_;
  std::map<std::string, FileCount> files_;
};

}  // namespace wdelta
