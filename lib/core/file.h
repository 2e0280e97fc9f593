// Files by descriptor: positioned reads and writes, and outputs that appear whole or not at all.
// Everything here retries interrupted and short calls, and turns errno into an Error that names the path.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.h"
#include "core/context.h"
#include "core/path.h"

namespace wdelta {

// What tells one file's content from another's without reading it. Compared before and after a long read to notice a
// source that changed on the way.
struct FileIdentity {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};

// An open file; closes itself. Safe to read from and write to by several threads at once.
class File {
 public:
  // A regular file to read. Anything else (a FIFO, a device, a folder) is kRefused, without blocking on it.
  static Result<File> OpenForRead(const std::string& path);
  // An existing regular file to patch. Never follows a symbolic link.
  static Result<File> OpenForUpdate(const std::string& path);
  // A new file; fails if something has that name.
  static Result<File> CreateNew(const std::string& path);
  // A file without a name, which vanishes when it is closed; in TMPDIR, else /tmp.
  static Result<File> CreateUnnamed(const Environment& environment);

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }  // to hand on to another process
  Result<FileIdentity> Identify() const;

  // Fills all of `out`; a file that ends before is kIntegrity ("ends at byte N").
  Result<> ReadAt(uint64_t offset, MutableByteSpan out) const;
  Result<> WriteAt(uint64_t offset, ByteSpan data) const;
  Result<> Resize(uint64_t size) const;
  Result<> Sync() const;
  // Takes the kernel's lock on this file for as long as it is open; false if somebody else has it.
  Result<bool> TryLock() const;

 private:
  File(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  int descriptor_ = -1;
  std::string path_;
};

// The whole of a small file; kIntegrity if it is larger than `limit` bytes.
Result<Bytes> ReadWholeFile(const std::string& path, uint64_t limit);

// Everything that arrives on standard input, in an unnamed file; kInterrupted if a stop is requested before it ends.
Result<File> SpoolStandardInput(const Context& context);

// A place to write bytes in order. Nothing is promised before Commit() has returned.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual Result<> Write(ByteSpan data) = 0;
  virtual Result<> Commit() = 0;
  uint64_t written() const { return written_; }

 protected:
  uint64_t written_ = 0;
};

// Standard output for "-", else a file that gets its name in Commit(), after an fsync when `durable`.
// Destroyed before that, it leaves nothing behind.
Result<std::unique_ptr<ByteSink>> OpenSink(const std::string& path, bool durable = true);

// A small file that appears whole.
Result<> WriteWholeFile(const std::string& path, ByteSpan content, bool durable);
// All of a file into another, which appears whole.
Result<> CopyInto(const File& from, const std::string& path, bool durable);

// A temporary name in TMPDIR, else in /tmp.
std::string TemporaryPath(const std::string& name, const Environment& environment);

}  // namespace wdelta
