// The marker that SGLang keeps in a checkpoint that it patches itself: .weight_sync/state.json says which version is
// there, and .weight_sync/lock is held by whoever changes it. With a marker of ours, SGLang's own pull finds itself up
// to date; and what SGLang has done in the meantime is not taken for damage.
#pragma once

#include <optional>
#include <string>

#include "core/file.h"
#include "wdelta.h"

namespace wdelta {

class Replica;

class SglangMarker {
 public:
  // Whether a checkpoint has one. Who patches it must not leave it behind.
  static bool IsIn(const std::string& path);

  // Takes the lock in the checkpoint at `path`, waiting up to `wait` seconds (kBusy), for as long as this lives.
  static Result<SglangMarker> Take(const std::string& path, double wait, const StopToken& stop);

  // The version that it says is there.
  Result<std::optional<uint64_t>> Read() const;
  // It says nothing, and it did: somebody has begun to change the checkpoint, and did not get to say what it became.
  bool was_there() const { return was_there_; }

  // Before a change, and after it.
  static Result<> Clear(const std::string& path, bool durable);
  static Result<> Write(const std::string& path, uint64_t version, bool durable);
  // With its lock and all.
  static void Remove(const std::string& path);

 private:
  SglangMarker(std::string path, File lock, bool was_there)
      : path_(std::move(path)), lock_(std::move(lock)), was_there_(was_there) {}
  std::string path_;
  File lock_;
  bool was_there_;
};

// From now on the folder's version carries the marker. Its lock is held as long as what comes back lives. If SGLang has
// moved the version on by itself, the folder learns which one it is now.
Result<std::optional<SglangMarker>> KeepMarker(Replica& replica, double lock_wait, const Context& context);

}  // namespace wdelta
