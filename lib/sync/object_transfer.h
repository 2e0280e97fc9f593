// Packs on their way to and from a store: cut into objects that are named by their SHA-256, sent and fetched in pieces
// by several at a time, and proved before anybody uses them.
#pragma once

#include "core/file.h"
#include "history/route.h"
#include "remote/remote.h"
#include "walk/walk.h"

namespace wdelta {

inline constexpr uint64_t kPieceBytes = uint64_t{8} << 20;  // that are asked for at once

// Part of a file, to be sent; the file must outlive it.
class FileSlice final : public ByteSource {
 public:
  FileSlice(const File& file, uint64_t offset, uint64_t bytes) : file_(file), offset_(offset), bytes_(bytes) {}
  uint64_t size() const override { return bytes_; }
  Result<> ReadAt(uint64_t offset, MutableByteSpan out) const override { return file_.ReadAt(offset_ + offset, out); }

 private:
  const File& file_;
  uint64_t offset_, bytes_;
};

// The SHA-256 of such a part.
Result<Sha256Digest> DigestSlice(const File& file, uint64_t offset, uint64_t bytes, const StopToken& stop);

// The SHA-256 of an object, read in pieces; nullopt: it is not there.
Result<std::optional<Sha256Digest>> DigestObject(Remote& remote, const std::string& key);

// The objects that the pack at `path` is cut into, with their digests: reads all of it.
Result<Way> DescribePack(const std::string& path, const Context& context);

struct Uploaded {
  uint64_t bytes = 0;             // that went over the wire
  std::vector<ObjectRef> reused;  // those that were there already
};
Result<Uploaded> UploadPack(Remote& remote, const std::string& path, const Way& way, unsigned jobs,
                            const Context& context);
// A reused object may have been collected as garbage meanwhile: what is gone is sent again. Worth asking once the
// objects are pinned (collection_fence.h), and once more after the commit.
Result<> SecureReused(Remote& remote, const std::string& path, const Way& way, const Uploaded& uploaded);

// A folder of packs that were fetched. A pack that a broken run left in part is gone on with; nothing in here is used
// before its objects have been proved by their digests.
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

// Opens what the packs of a route, which are all there, lead to from the checkpoint at `base`, which does not matter
// where the route begins with an anchor.
Result<OpenedTarget> OpenRoute(const Route& route, const PackStore& packs, const std::string& base,
                               const FileChoice& files, const Context& context);

}  // namespace wdelta
