#include "sync/object_transfer.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "core/byte_source.h"
#include "core/parallel.h"

namespace wdelta {

namespace {

// Where each object begins in its pack.
std::vector<uint64_t> Offsets(const std::vector<ObjectRef>& objects) {
  std::vector<uint64_t> offsets;
  uint64_t at = 0;
  for (const ObjectRef& object : objects) {
    offsets.push_back(at);
    at += object.bytes;
  }
  return offsets;
}

// The objects of a fetched pack that do not have their digest, and the one that they have; computed side by side.
Result<std::map<size_t, Sha256Digest>> FindDamage(const File& file, const Way& way, const Context& context) {
  const std::vector<uint64_t> offsets = Offsets(way.objects);
  const auto digest = [&](uint64_t i) {
    return DigestSource(FileSlice(file, offsets[i], way.objects[i].bytes), context.stop);
  };
  WD_ASSIGN(const std::vector<Sha256Digest> digests,
            CollectOrdered<Sha256Digest>(way.objects.size(), LimitsFor(context), digest));
  std::map<size_t, Sha256Digest> damaged;
  for (size_t i = 0; i < digests.size(); ++i) {
    if (digests[i] != way.objects[i].sha256) damaged[i] = digests[i];
  }
  return damaged;
}

Result<bool> IsThere(Remote& remote, const ObjectRef& object) {
  WD_ASSIGN(const std::optional<ObjectInfo> info, remote.Stat(ObjectKey(object.sha256)));
  return info && info->size == object.bytes;
}

// False: it was there already.
Result<bool> SendObject(Remote& remote, const File& file, uint64_t offset, const ObjectRef& object) {
  const std::string key = ObjectKey(object.sha256);
  const FileSlice slice(file, offset, object.bytes, object.sha256);
  WD_ASSIGN(const WriteResult written, remote.Write(key, slice, WriteRule::kIfAbsent));
  if (written == WriteResult::kWritten) return true;
  WD_ASSIGN(const bool is_there, IsThere(remote, object));
  if (is_there) return false;
  // Something else lies under this name, or gc has just removed it.
  WD_TRY(remote.Write(key, slice, WriteRule::kReplace));
  return true;
}

// The pieces that a pack is fetched in; none reaches over the border of an object.
struct Piece {
  size_t object = 0;
  uint64_t offset = 0, bytes = 0;  // in the object
};

std::vector<Piece> PiecesOf(const Way& way) {
  std::vector<Piece> pieces;
  for (size_t i = 0; i < way.objects.size(); ++i) {
    for (uint64_t at = 0; at < way.objects[i].bytes; at += kPieceBytes) {
      pieces.push_back({i, at, std::min(kPieceBytes, way.objects[i].bytes - at)});
    }
  }
  return pieces;
}

// Which pieces of a pack are in its part file: a byte each, in a file beside it.
Bytes ReadMap(const std::string& path, size_t pieces) {
  Result<Bytes> map = ReadWholeFile(path, pieces);
  if (!map.ok() || map->size() != pieces) return Bytes(pieces, 0);
  return std::move(*map);
}

Result<File> OpenOrCreate(const std::string& path, uint64_t bytes) {
  if (!PathExists(path)) WD_TRY(File::CreateNew(path));
  WD_ASSIGN(File file, File::OpenForUpdate(path));
  WD_TRY(file.Resize(bytes));
  return file;
}

Error WrongObject(const Remote& remote, const ObjectRef& object, const Sha256Digest& found) {
  Error error{ErrorKind::kIntegrity,
              "object '" + remote.url() + "/" + ObjectKey(object.sha256) + "' does not have its SHA-256"};
  error.path = remote.url() + "/" + ObjectKey(object.sha256);
  error.expected = Hex(object.sha256);
  error.found = Hex(found);
  error.hint = "'wdelta verify " + remote.url() + "' finds other damage";
  return error;
}

}  // namespace

Result<std::optional<Sha256Digest>> DigestObject(Remote& remote, const std::string& key) {
  Sha256 sha256;
  for (uint64_t at = 0, size = 1; at < size; at += kPieceBytes) {
    Result<ObjectPiece> piece = remote.Read(key, at, kPieceBytes);
    if (!piece.ok() && piece.error().kind == ErrorKind::kNotFound) return std::optional<Sha256Digest>();
    if (!piece.ok()) return piece.TakeError();
    sha256.Update(piece->bytes);
    size = piece->size;
  }
  return std::optional(sha256.Finish());
}

Result<Uploaded> UploadPack(Remote& remote, const ReadyPack& pack, unsigned jobs, const Context& context) {
  const std::vector<ObjectRef>& objects = pack.objects();
  WD_ASSIGN(const File file, File::OpenForRead(pack.path()));
  const std::vector<uint64_t> offsets = Offsets(objects);
  Uploaded uploaded;
  Progress progress{0, pack.AsWay(0).bytes()};
  const unsigned at_once =
      std::min(JobsOrDefault(jobs), 2U);  // each object may itself go up in several parts at a time
  WD_TRY(RunOrdered<bool>(
      objects.size(), {at_once, at_once, context.stop},
      [&](uint64_t i, unsigned) { return SendObject(remote, file, offsets[i], objects[i]); },
      [&](uint64_t i, bool sent) -> Result<> {
        if (!sent) uploaded.reused.push_back(objects[i]);
        if (sent) uploaded.bytes += objects[i].bytes;
        progress.done_bytes += objects[i].bytes;
        context.progress(progress);
        return {};
      }));
  return uploaded;
}

Result<> SendMissing(Remote& remote, const ReadyPack& pack, const std::vector<ObjectRef>& objects) {
  const std::vector<uint64_t> offsets = Offsets(pack.objects());
  for (const ObjectRef& object : objects) {
    WD_ASSIGN(const bool is_there, IsThere(remote, object));
    if (is_there) continue;
    const auto at = std::find(pack.objects().begin(), pack.objects().end(), object) - pack.objects().begin();
    WD_ASSIGN(const File file, File::OpenForRead(pack.path()));
    WD_TRY(SendObject(remote, file, offsets[static_cast<size_t>(at)], object));
  }
  return {};
}

std::string PackStore::PathOf(const Way& way) const {
  if (way.objects.size() == 1) return folder_ + "/" + Hex(way.objects[0].sha256) + ".wdp";
  Sha256 sha256;
  for (const ObjectRef& object : way.objects) sha256.Update(object.sha256);
  return folder_ + "/" + Hex(sha256.Finish()) + ".wdp";
}

bool PackStore::Has(const Way& way) const {
  return SizeOfFile(PathOf(way)) == way.bytes();
}

uint64_t PackStore::MissingBytes(const Way& way) const {
  if (Has(way)) return 0;
  const std::vector<Piece> pieces = PiecesOf(way);
  const Bytes map = ReadMap(PathOf(way) + ".map", pieces.size());
  uint64_t missing = 0;
  for (size_t i = 0; i < pieces.size(); ++i) missing += map[i] ? 0 : pieces[i].bytes;
  return missing;
}

Result<> PackStore::Fetch(Remote& remote, const Way& way, unsigned jobs, const Context& context,
                          uint64_t* wire_bytes) const {
  const std::string path = PathOf(way), part = path + ".part", map_path = path + ".map";
  if (Has(way)) {
    WD_ASSIGN(const File file, File::OpenForRead(path));
    WD_ASSIGN(const auto damaged, FindDamage(file, way, context));
    if (damaged.empty()) return {};
    unlink(path.c_str());  // the disk has lost something
  }
  const std::vector<Piece> pieces = PiecesOf(way);
  const std::vector<uint64_t> offsets = Offsets(way.objects);
  std::vector<unsigned> attempts(way.objects.size());
  for (;;) {
    Bytes map = ReadMap(map_path, pieces.size());
    WD_ASSIGN(const File file, OpenOrCreate(part, way.bytes()));
    WD_ASSIGN(const File map_file, OpenOrCreate(map_path, pieces.size()));
    std::vector<size_t> missing;
    Progress progress{0, way.bytes()};
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (!map[i]) missing.push_back(i);
      if (map[i]) progress.done_bytes += pieces[i].bytes;
    }
    WD_TRY(RunOrdered<bool>(
        missing.size(), {JobsOrDefault(jobs), JobsOrDefault(jobs), context.stop},
        [&](uint64_t n, unsigned) -> Result<bool> {
          const Piece& piece = pieces[missing[n]];
          const ObjectRef& object = way.objects[piece.object];
          const auto ask = [&] { return remote.Read(ObjectKey(object.sha256), piece.offset, piece.bytes); };
          WD_ASSIGN(ObjectPiece read, ask());
          for (int again = 0; again < 2 && read.size != object.bytes;
               ++again) {  // an answer from something in between?
            WD_ASSIGN(read, ask());
          }
          if (read.size != object.bytes || read.bytes.size() != piece.bytes) {
            const std::string name = remote.url() + "/" + ObjectKey(object.sha256);
            return Error{ErrorKind::kIntegrity,
                         "object '" + name + "' has " + std::to_string(read.size) + " bytes, its record says " +
                             std::to_string(object.bytes),
                         "", name};
          }
          WD_TRY(file.WriteAt(offsets[piece.object] + piece.offset, read.bytes));
          return true;
        },
        [&](uint64_t n, bool) -> Result<> {
          const uint8_t done = 1;
          WD_TRY(map_file.WriteAt(missing[n], ByteSpan(&done, 1)));
          *wire_bytes += pieces[missing[n]].bytes;
          progress.done_bytes += pieces[missing[n]].bytes;
          context.progress(progress);
          return {};
        }));
    WD_ASSIGN(const auto damaged, FindDamage(file, way, context));
    for (const auto& [i, found] : damaged) {
      // It may have been damaged on the way, or by a crash after an earlier run noted it as fetched: once more.
      if (++attempts[i] > 2) return WrongObject(remote, way.objects[i], found);
      const uint8_t not_done = 0;
      for (size_t p = 0; p < pieces.size(); ++p) {
        if (pieces[p].object == i) WD_TRY(map_file.WriteAt(p, ByteSpan(&not_done, 1)));
      }
    }
    if (!damaged.empty()) continue;
    WD_TRY(Rename(part, path, false));
    unlink(map_path.c_str());
    return {};
  }
}

void PackStore::KeepOnly(const std::vector<Way>& ways) const {
  std::vector<std::string> kept;
  kept.reserve(ways.size());
  for (const Way& way : ways) kept.push_back(LastComponent(PathOf(way)));
  const Result<std::vector<FolderEntry>> entries = ListFolder(folder_);
  if (!entries.ok()) return;
  for (const FolderEntry& entry : *entries) {
    if (std::find(kept.begin(), kept.end(), entry.name) == kept.end()) unlink((folder_ + "/" + entry.name).c_str());
  }
}

}  // namespace wdelta
