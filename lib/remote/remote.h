// A remote: objects under keys, somewhere. Five things can be done with it, and a history of a model needs no more.
//
// Keys are built by us, never taken from a listing as they are: letters, digits, '.', '-', '_' and single
// '/' between parts, none of which begins with a dot. What is said of one store holds for all of them; one suite of
// tests checks it for each (tests/remote/contract.h).
//
// A call here is one attempt. WithRetries() (retry.h) wraps a remote so that passing trouble is waited out, and so that
// a conditional write whose answer was lost is settled by reading back. All calls may be made from several threads at
// once, and end soon with kInterrupted after a stop.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/bytes.h"
#include "core/context.h"

namespace wdelta {

// Bytes that can be read again from any place, because an attempt to send them may have to be repeated.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual uint64_t size() const = 0;
  virtual Result<> ReadAt(uint64_t offset, MutableByteSpan out) const = 0;
};

// Bytes in memory; they must outlive it.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(ByteSpan bytes) : bytes_(bytes) {}
  uint64_t size() const override { return bytes_.size(); }
  Result<> ReadAt(uint64_t offset, MutableByteSpan out) const override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset)
      return Error{ErrorKind::kIntegrity, "ends too early"};
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return {};
  }

 private:
  ByteSpan bytes_;
};

// Part of an object, and what the answer said about the whole.
struct ObjectPiece {
  Bytes bytes;          // shorter than asked for only where the object ends
  uint64_t size = 0;    // of the whole object
  std::string version;  // changes when the object does; empty where the store has no such thing
};

struct ObjectInfo {
  std::string key;
  uint64_t size = 0;
  int64_t modified = 0;  // seconds since 1970 by the store's clock; 0: not told
};

struct ObjectPage {
  std::vector<ObjectInfo> objects;  // by key, rising
  bool more = false;                // there are more after the last one
  int64_t now = 0;                  // what time it is by the store's clock
};

enum class WriteRule { kReplace, kIfAbsent, kIfVersion };
enum class WriteResult { kWritten, kExists, kChanged };

// For stores: a write on condition of a version has to say which one. None is what a store tells that has no versions,
// and there is nothing to compare then.
inline Result<> CheckVersionIsNamed(WriteRule rule, const std::string& version) {
  if (rule == WriteRule::kIfVersion && version.empty())
    return Error{ErrorKind::kRefused, "an object whose version is not known cannot be replaced on condition"};
  return {};
}

class Remote {
 public:
  virtual ~Remote() = default;

  // How to name it to people: its URL without anything secret.
  virtual const std::string& url() const = 0;

  // Up to `length` bytes from `offset` on; kNotFound if there is no such object. An offset at or past the end gives no
  // bytes. With `version`, kConflict if the object is another by now.
  virtual Result<ObjectPiece> Read(const std::string& key, uint64_t offset, uint64_t length,
                                   const std::string& version = {}) = 0;
  // Creates or replaces a whole object: readers see all of it or nothing. kReplace always gives kWritten. kIfAbsent: if
  // nobody created it before, else kExists; of several at the same time exactly one gets kWritten.
  //
  // kIfVersion: replaces the object if its version is still `version`, as a Read told it, else kChanged, also if the
  // object is gone by now; of several at the same time with the same version exactly one gets kWritten. This is how a
  // small pointer moves that several processes share: whoever writes has seen what it replaces. It holds among those
  // who move it so, each to bytes that were not there before: a store may name a version after the bytes, and kReplace
  // and Remove ask nobody. kRefused by stores that name no versions, hf:// and static mirrors, without a version, and
  // for objects so large that they would be sent in parts. The other rules take no notice of `version`.
  virtual Result<WriteResult> Write(const std::string& key, const ByteSource& source, WriteRule rule,
                                    const std::string& version = {}) = 0;
  // nullopt: no such object.
  virtual Result<std::optional<ObjectInfo>> Stat(const std::string& key) = 0;
  // Objects whose key begins with `prefix` and sorts after `after`, at most `limit` of them (1 to 1000). kRefused by
  // a remote that cannot list, a static mirror.
  virtual Result<ObjectPage> List(const std::string& prefix, const std::string& after, unsigned limit) = 0;
  // Removing what is not there is success. This one is still done after a stop, if it can be done in a moment, so
  // that a call that ends early can tidy up.
  virtual Result<> Remove(const std::string& key) = 0;

  // What somebody who looks for a fault wants to know, as name and value: endpoint, region, where the credentials come
  // from (never they themselves), clock skew.
  virtual std::vector<std::pair<std::string, std::string>> Describe() { return {}; }

  // How many attempts had to be repeated so far, for reports.
  virtual uint64_t retries() const { return 0; }
};

// Opens the remote that `url` names (file://, s3://, http://, https://, hf://), with retries around it. It takes
// its stop and its notes from `context`, for as long as it is open. Nothing is sent yet. kUsage: a URL that cannot be.
Result<std::unique_ptr<Remote>> OpenRemote(const std::string& url, const TransferOptions& options,
                                           const Context& context);

// Whether `text` has the form of a remote's URL (its scheme is one that OpenRemote knows).
bool LooksLikeRemote(std::string_view text);

}  // namespace wdelta
