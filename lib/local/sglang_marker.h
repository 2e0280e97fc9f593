// The marker that SGLang keeps in a checkpoint that it patches itself: .weight_sync/state.json says which version the
// files are, and the process that changes them holds .weight_sync/lock. With a marker of ours, SGLang's own pull finds
// its files up to date; and what SGLang has changed in the meantime is not mistaken for damage.
#pragma once

#include <optional>
#include <string>

#include "core/file.h"

namespace wdelta {

class SglangMarker {
 public:
  // Whether a checkpoint has one. Patching the checkpoint makes it wrong.
  static bool IsIn(const std::string& path);

  // Takes the lock in the checkpoint at `path`, waiting up to `wait` seconds (kBusy), for as long as this lives.
  static Result<SglangMarker> Take(const std::string& path, double wait, const StopToken& stop);

  // The version that it says is there.
  Result<std::optional<uint64_t>> Read() const;
  // Whether there was one when the lock was taken. If it names no version then, a program has begun to change the
  // checkpoint and was interrupted.
  bool was_there() const { return was_there_; }

  // Before a change, and after it. The checkpoint must exist.
  static Result<> Clear(const std::string& path, bool durable);
  static Result<> Write(const std::string& path, uint64_t version, bool durable);
  // Removes it together with its lock.
  static void Remove(const std::string& path);

 private:
  SglangMarker(std::string path, File lock, bool was_there)
      : path_(std::move(path)), lock_(std::move(lock)), was_there_(was_there) {}
  std::string path_;
  File lock_;
  bool was_there_;
};

}  // namespace wdelta
