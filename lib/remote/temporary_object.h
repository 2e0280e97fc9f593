// An object of a folder before it has its name: a file in ROOT/.tmp, filled and synced there, and then linked or
// renamed to where everybody sees it, whole.
#pragma once

#include <sys/stat.h>

#include <string>

#include "core/stop.h"
#include "remote/folder_tree.h"

namespace wdelta {

inline constexpr char kTemporaryFolder[] = ".tmp";

// What was written is on disk; at once where the file system is memory.
Result<> SyncToDisk(const Descriptor& file, const std::string& path);

// Its name in ROOT/.tmp goes away with it.
class Temporary {
 public:
  static Result<Temporary> Create(const std::string& root);
  Temporary(Temporary&&) = default;
  ~Temporary();

  const Descriptor& folder() const { return folder_; }
  const std::string& name() const { return name_; }
  Result<struct stat> Status() const;

  // All the bytes, on disk.
  Result<> Fill(const ByteSource& source, const StopToken& stop) const;
  // Gives the file a later time than `older` has. A clock ticks a few hundred times in a second, and the number of a
  // file that was replaced is used again: within a tick an object could get the version of one that it had before.
  Result<> BeYoungerThan(const struct stat& older) const;
  // Removes what others left beside it a day ago or earlier, by the file server's clock, which this file tells. What
  // cannot be removed does no harm.
  void RemoveLeftovers() const;

 private:
  Temporary(Descriptor folder, std::string name, Descriptor file, std::string path);

  Descriptor folder_;
  std::string name_;
  Descriptor file_;
  std::string path_;
};

// The moment between looking at a file of a folder and replacing it, in which no other process may do the same.
//
// It is the kernel's lock on a file in ROOT/.tmp that stays there for good. Processes of one host exclude each other,
// and so do the threads of one; those of several hosts do if the file server passes on locks. It is held for the time
// of a rename, and the kernel takes it back from a process that ends, however that ends.
inline constexpr char kReplaceLock[] = "replace.lock";

// Waits for the lock, and holds it until the descriptor closes; kInterrupted if a stop is requested before that.
// `path` is that of `folder`, for messages.
Result<Descriptor> TakeReplaceLock(const Descriptor& folder, const std::string& path, const StopToken& stop);

}  // namespace wdelta
