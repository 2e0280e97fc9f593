// Packs on their way to and from a store: objects that are named by their SHA-256, sent and fetched in pieces, several
// at a time, and checked before anything uses them.
#pragma once

#include "history/route.h"
#include "remote/remote.h"
#include "sync/ready_pack.h"
#include "walk/walk.h"

namespace wdelta {

inline constexpr uint64_t kPieceBytes = uint64_t{8} << 20;  // that are asked for at once

// Transfers at a time: `jobs`, or the default for 0.
inline unsigned JobsOrDefault(unsigned jobs) {
  return jobs ? jobs : 4;
}

// The SHA-256 of an object, read in pieces; nullopt: it is not there.
Result<std::optional<Sha256Digest>> DigestObject(Remote& remote, const std::string& key);

struct Uploaded {
  uint64_t bytes = 0;             // that went over the wire
  std::vector<ObjectRef> reused;  // those that were there already
};
Result<Uploaded> UploadPack(Remote& remote, const ReadyPack& pack, unsigned jobs, const Context& context);
// Sends those of `objects`, which are of `pack`, that the store does not have: gc may have removed them since they were
// uploaded or found there. Worth asking once they are pinned (gc_fence.h), and once more after the commit.
Result<> SendMissing(Remote& remote, const ReadyPack& pack, const std::vector<ObjectRef>& objects);

// A folder of packs that were fetched. A pack that a broken run left in part is fetched to its end; no pack is used
// before the digests of its objects have been checked.
class PackStore {
 public:
  explicit PackStore(std::string folder) : folder_(std::move(folder)) {}

  std::string PathOf(const Way& way) const;
  bool Has(const Way& way) const;
  // How many bytes of it are still to be fetched.
  uint64_t MissingBytes(const Way& way) const;
  // Makes sure that the whole pack is there and right. Adds what went over the wire to `wire_bytes`.
  Result<> Fetch(Remote& remote, const Way& way, unsigned jobs, const Context& context, uint64_t* wire_bytes) const;
  // Removes all packs but these, and all that was left in part.
  void KeepOnly(const std::vector<Way>& ways) const;

 private:
  std::string folder_;
};

}  // namespace wdelta
