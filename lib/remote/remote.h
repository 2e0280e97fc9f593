// A remote: objects under keys, somewhere. Five things can be done with it, and a history of a model needs no more.
//
// Keys are built by wdelta, never used as a listing gives them: letters, digits, '.', '-', '_' and single
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

#include "core/byte_source.h"
#include "core/context.h"

namespace wdelta {

// Part of an object, and what the answer said about the whole.
struct ObjectPiece {
  Bytes bytes;        // shorter than asked for only where the object ends
  uint64_t size = 0;  // of the whole object
  std::string etag;   // changes when the object does; empty if the store does not tell
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

enum class WriteRule { kReplace, kIfAbsent, kIfEtag };
enum class WriteResult { kWritten, kExists, kChanged };

// For stores: a conditional write needs an etag. A store that tells none gives nothing to compare.
inline Result<> CheckEtagIsNamed(WriteRule rule, const std::string& etag) {
  if (rule == WriteRule::kIfEtag && etag.empty())
    return Error{ErrorKind::kRefused, "an object whose version is not known cannot be replaced on condition"};
  return {};
}

class Remote {
 public:
  virtual ~Remote() = default;

  // How to name it to people: its URL without anything secret.
  virtual const std::string& url() const = 0;

  // Up to `length` bytes from `offset` on; kNotFound if there is no such object. An offset at or past the end gives no
  // bytes. With `etag`, kConflict if the object has another one by now.
  virtual Result<ObjectPiece> Read(const std::string& key, uint64_t offset, uint64_t length,
                                   const std::string& etag = {}) = 0;
  // Creates or replaces a whole object: readers see all of it or nothing. kReplace always gives kWritten. kIfAbsent
  // gives kExists if the object is there already; of several writers at the same time exactly one gets kWritten.
  //
  // kIfEtag replaces the object if it still has the etag that a Read told, else it gives kChanged, also if the object
  // is gone by now; of several writers with the same etag exactly one gets kWritten. This is how several processes
  // share a small pointer: each writer has seen what it replaces. It holds only among writers who all use this rule and
  // who never write the same bytes twice: a store may derive the etag from the bytes, and kReplace and Remove check
  // nothing. kRefused by stores without etags (hf://, static mirrors), for an empty etag, and for objects so large that
  // they would be sent in parts. The other rules ignore `etag`.
  virtual Result<WriteResult> Write(const std::string& key, const ByteSource& source, WriteRule rule,
                                    const std::string& etag = {}) = 0;
  // nullopt: no such object.
  virtual Result<std::optional<ObjectInfo>> Stat(const std::string& key) = 0;
  // One page: the objects whose key begins with `prefix` and sorts after `after`, at most `limit` of them (1 to 1000).
  // kRefused by a remote that cannot list, a static mirror.
  virtual Result<ObjectPage> List(const std::string& prefix, const std::string& after, unsigned limit) = 0;
  // Removing an object that is not there is success. A removal still works after a stop, if it takes only a moment, so
  // that a call that ends early can tidy up.
  virtual Result<> Remove(const std::string& key) = 0;

  // For people who look for a fault, as name and value: endpoint, region, where the credentials come
  // from (never they themselves), clock skew.
  virtual std::vector<std::pair<std::string, std::string>> Describe() { return {}; }

  // How many attempts had to be repeated so far, for reports.
  virtual uint64_t retries() const { return 0; }
};

// All pages of a listing.
struct Listing {
  std::vector<ObjectInfo> objects;  // by key, rising
  int64_t now = 0;                  // the time by the store's clock, when the listing began
};
Result<Listing> ListAll(Remote& remote, const std::string& prefix, const std::string& after = {});

// Whether an error of List means that this remote cannot be listed at all, or not by us.
inline bool CannotList(const Error& error) {
  return error.kind == ErrorKind::kRefused || error.kind == ErrorKind::kDenied;
}

// Opens the remote that `url` names (file://, s3://, http://, https://, hf://), with retries around it. It takes
// its stop and its notes from `context`, for as long as it is open. Nothing is sent yet. kUsage: a URL that cannot be.
Result<std::unique_ptr<Remote>> OpenRemote(const std::string& url, const TransferOptions& options,
                                           const Context& context);

// Whether `text` has the form of a remote's URL (its scheme is one that OpenRemote knows).
bool LooksLikeRemote(std::string_view text);

}  // namespace wdelta
