// A store in memory with the full contract of a remote: what tests of everything above a remote talk to.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "remote/remote.h"

namespace wdelta {

// What all handles on one store share. Safe to use from several threads.
class MemoryStore {
 public:
  struct Object {
    Bytes bytes;
    int64_t modified = 0;
    uint64_t version = 0;
  };

  // What time it is by the store's clock; the machine's unless a test sets another.
  void SetClock(std::function<int64_t()> clock);

  // How often a method of any handle was called: "read", "write", "stat", "list", "remove", or all of them for "".
  uint64_t Calls(const std::string& method = {}) const;
  void ForgetCalls();

  // The objects as they are now, past the interface: to look at, or to damage.
  std::map<std::string, Object> Objects() const;
  void Put(const std::string& key, Bytes bytes);
  void Erase(const std::string& key);

 private:
  friend class MemoryRemote;
  int64_t Now() const { return clock_ ? clock_() : time(nullptr); }

  mutable std::mutex mutex_;
  std::function<int64_t()> clock_;
  std::map<std::string, Object> objects_;
  std::map<std::string, uint64_t> calls_;
  uint64_t versions_ = 0;
};

std::unique_ptr<Remote> OpenMemoryRemote(std::shared_ptr<MemoryStore> store, const StopToken& stop = {});

}  // namespace wdelta
