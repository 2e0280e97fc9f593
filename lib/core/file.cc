#include "core/file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "core/byte_source.h"
#include "core/file_counts.h"

namespace wdelta {

File::File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) close(descriptor_);
}

namespace {

Result<int> OpenRegular(const std::string& path, int flags) {
  const int descriptor = open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return SystemError("open", path, errno);
  struct stat status;
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor);
    return Error{ErrorKind::kRefused, "'" + path + "' is not a regular file"}.At(path);
  }
  return descriptor;
}

std::string TemporaryFolder(const Environment& environment) {
  const std::string folder = environment.Get("TMPDIR");
  return folder.empty() ? "/tmp" : folder;
}

}  // namespace

Result<File> File::OpenForRead(const std::string& path) {
  WD_ASSIGN(const int descriptor, OpenRegular(path, O_RDONLY));
  FileCounts::Opened(path);
  return File(descriptor, path);
}

Result<File> File::OpenForUpdate(const std::string& path) {
  WD_ASSIGN(const int descriptor, OpenRegular(path, O_RDWR | O_NOFOLLOW));
  FileCounts::Opened(path);
  return File(descriptor, path);
}

Result<File> File::CreateNew(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0) return SystemError("create", path, errno);
  FileCounts::Opened(path);
  return File(descriptor, path);
}

Result<File> File::CreateUnnamed(const Environment& environment) {
  const std::string folder = TemporaryFolder(environment);
  int descriptor = open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
  if (descriptor < 0) {  // a file system without O_TMPFILE
    std::string path = folder + "/wdelta-XXXXXX";
    descriptor = mkostemp(path.data(), O_CLOEXEC);
    if (descriptor < 0) return SystemError("create a temporary file in", folder, errno);
    unlink(path.c_str());
  }
  return File(descriptor, folder + " (temporary)");
}

Result<FileIdentity> File::Identify() const {
  struct stat status;
  if (fstat(descriptor_, &status) != 0) return SystemError("read", path_, errno);
  return FileIdentity{status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size),
                      status.st_mtim.tv_sec * int64_t{1000000000} + status.st_mtim.tv_nsec};
}

Result<> File::ReadAt(uint64_t offset, MutableByteSpan out) const {
  FileCounts::Read(path_, out.size());
  while (!out.empty()) {
    const ssize_t got = pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError("read", path_, errno);
    if (got == 0)
      return Error{ErrorKind::kIntegrity, "'" + path_ + "' ends at byte " + std::to_string(offset)}.At(path_);
    out = out.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return {};
}

Result<> File::WriteAt(uint64_t offset, ByteSpan data) const {
  FileCounts::Written(path_, data.size());
  while (!data.empty()) {
    const ssize_t put = pwrite(descriptor_, data.data(), data.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return SystemError("write", path_, errno);
    data = data.subspan(static_cast<size_t>(put));
    offset += static_cast<uint64_t>(put);
  }
  return {};
}

Result<> File::Resize(uint64_t size) const {
  if (ftruncate(descriptor_, static_cast<off_t>(size)) != 0) return SystemError("resize", path_, errno);
  return {};
}

Result<> File::Sync() const {
  if (fsync(descriptor_) != 0) return SystemError("sync", path_, errno);
  return {};
}

Result<bool> File::TryLock() const {
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  return SystemError("lock", path_, errno);
}

Result<Bytes> ReadWholeFile(const std::string& path, uint64_t limit) {
  WD_ASSIGN(const File file, File::OpenForRead(path));
  WD_ASSIGN(const FileIdentity identity, file.Identify());
  if (identity.size > limit)
    return Error{ErrorKind::kIntegrity, "'" + path + "' is larger than " + std::to_string(limit) + " bytes"}.At(path);
  Bytes bytes(identity.size);
  WD_TRY(file.ReadAt(0, bytes));
  return bytes;
}

Result<File> SpoolStandardInput(const Context& context) {
  WD_ASSIGN(File spool, File::CreateUnnamed(context.environment));
  Bytes piece(256 << 10);
  for (uint64_t at = 0;;) {
    WD_TRY(context.stop.Check());
    struct pollfd input {
      STDIN_FILENO, POLLIN, 0
    };
    // A read could wait for long, and the stop may come from another thread, or from the signal that ended the poll.
    if (poll(&input, 1, 50) <= 0) continue;
    const ssize_t got = read(STDIN_FILENO, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError("read", "standard input", errno);
    if (got == 0) return spool;
    WD_TRY(spool.WriteAt(at, ByteSpan(piece).first(static_cast<size_t>(got))));
    at += static_cast<uint64_t>(got);
  }
}

namespace {

// A pipe or a device: what was written cannot be taken back, and there is no name to give.
class OpenStream final : public ByteSink {
 public:
  OpenStream(int descriptor, std::string name, bool owned)
      : descriptor_(descriptor), name_(std::move(name)), owned_(owned) {}
  ~OpenStream() override {
    if (owned_) close(descriptor_);
  }
  OpenStream(const OpenStream&) = delete;
  OpenStream& operator=(const OpenStream&) = delete;

  Result<> Write(ByteSpan data) override {
    written_ += data.size();
    while (!data.empty()) {
      const ssize_t put = write(descriptor_, data.data(), data.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return SystemError("write", name_, errno);
      data = data.subspan(static_cast<size_t>(put));
    }
    return {};
  }
  Result<> Commit() override { return {}; }

 private:
  int descriptor_;
  std::string name_;
  bool owned_;
};

class PendingFile final : public ByteSink {
 public:
  PendingFile(File file, std::string name, bool durable)
      : file_(std::move(file)), name_(std::move(name)), durable_(durable) {}
  ~PendingFile() override {
    if (!committed_) unlink(file_.path().c_str());
  }
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  Result<> Write(ByteSpan data) override {
    WD_TRY(file_.WriteAt(written_, data));
    written_ += data.size();
    return {};
  }
  Result<> Commit() override {
    if (durable_) WD_TRY(file_.Sync());
    WD_TRY(Rename(file_.path(), name_, durable_));
    committed_ = true;
    return {};
  }

 private:
  File file_;
  std::string name_;
  bool durable_;
  bool committed_ = false;
};

}  // namespace

Result<std::unique_ptr<ByteSink>> OpenSink(const std::string& path, bool durable) {
  if (path == "-") {
    return std::unique_ptr<ByteSink>(std::make_unique<OpenStream>(STDOUT_FILENO, "standard output", false));
  }
  struct stat status;
  const bool exists = stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    return Error{ErrorKind::kUsage, "'" + path + "' is a folder, a file name is needed"};
  }
  if (exists && !S_ISREG(status.st_mode)) {  // /dev/null, a FIFO: written to, never replaced
    const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return SystemError("open", path, errno);
    return std::unique_ptr<ByteSink>(std::make_unique<OpenStream>(descriptor, path, true));
  }
  WD_ASSIGN(File file, File::CreateNew(TemporaryNameBeside(path)));
  return std::unique_ptr<ByteSink>(std::make_unique<PendingFile>(std::move(file), path, durable));
}

Result<> CopyInto(const File& from, const std::string& path, bool durable) {
  WD_ASSIGN(const FileIdentity identity, from.Identify());
  WD_ASSIGN(const std::unique_ptr<ByteSink> sink, OpenSink(path, durable));
  WD_TRY(ForEachPiece(FileSlice(from, 0, identity.size), [&](ByteSpan piece) { return sink->Write(piece); }));
  return sink->Commit();
}

Result<> WriteWholeFile(const std::string& path, ByteSpan content, bool durable) {
  WD_ASSIGN(const std::unique_ptr<ByteSink> sink, OpenSink(path, durable));
  WD_TRY(sink->Write(content));
  return sink->Commit();
}

std::string TemporaryPath(const std::string& name, const Environment& environment) {
  return TemporaryNameBeside(TemporaryFolder(environment) + "/" + name);
}

}  // namespace wdelta
