#include "sync/object_transfer.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/parallel.h"
#include "walk/chain.h"

namespace wdelta {

namespace {

constexpr unsigned kDefaultJobs = 4;

RunLimits Jobs(unsigned jobs, const Context& context) {
  const unsigned count = jobs ? jobs : kDefaultJobs;
  return {count, count, context.stop};
}

std::vector<uint64_t> Offsets(const Way& way) {
  std::vector<uint64_t> offsets;
  uint64_t at = 0;
  for (const ObjectRef& object : way.objects) {
    offsets.push_back(at);
    at += object.bytes;
  }
  return offsets;
}

// Digests of all slices, computed side by side.
Result<std::vector<Sha256Digest>> DigestSlices(const File& file, const Way& way, const Context& context) {
  const std::vector<uint64_t> offsets = Offsets(way);
  std::vector<Sha256Digest> digests;
  WD_TRY(RunOrdered<Sha256Digest>(
      way.objects.size(), LimitsFor(context),
      [&](uint64_t i, unsigned) { return DigestSlice(file, offsets[i], way.objects[i].bytes, context.stop); },
      [&](uint64_t, const Sha256Digest& digest) -> Result<> {
        digests.push_back(digest);
        return {};
      }));
  return digests;
}

Result<> SendObject(Remote& remote, const File& file, uint64_t offset, const ObjectRef& object, bool* reused) {
  const std::string key = ObjectKey(object.sha256);
  WD_ASSIGN(const WriteResult written, remote.Write(key, FileSlice(file, offset, object.bytes), WriteRule::kIfAbsent));
  *reused = written == WriteResult::kExists;
  if (!*reused) return {};
  WD_ASSIGN(const std::optional<ObjectInfo> info, remote.Stat(key));
  if (info && info->size == object.bytes) return {};
  // Something else lies under this name, or it has just been collected.
  WD_TRY(remote.Write(key, FileSlice(file, offset, object.bytes), WriteRule::kReplace));
  *reused = false;
  return {};
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
  if (access(path.c_str(), F_OK) == 0) {
    WD_ASSIGN(File file, File::OpenForUpdate(path));
    WD_ASSIGN(const FileIdentity identity, file.Identify());
    if (identity.size != bytes) WD_TRY(file.Resize(bytes));
    return file;
  }
  WD_ASSIGN(File file, File::CreateNew(path));
  WD_TRY(file.Resize(bytes));
  return file;
}

Error WrongObject(const Remote& remote, const ObjectRef& object, const Sha256Digest& found) {
  Error error{ErrorKind::kIntegrity,
              "object '" + remote.url() + "/" + ObjectKey(object.sha256) + "' does not have its SHA-256"};
  error.path = remote.url() + "/" + ObjectKey(object.sha256);
  error.expected = Hex(object.sha256);
  error.found = Hex(found);
  error.hint = "'wdelta verify " + remote.url() + "' tells what else is damaged";
  return error;
}

}  // namespace

Result<Sha256Digest> DigestSlice(const File& file, uint64_t offset, uint64_t bytes, const StopToken& stop) {
  Sha256 sha256;
  Bytes piece(std::min<uint64_t>(bytes, 1 << 20));
  for (uint64_t done = 0; done < bytes;) {
    WD_TRY(stop.Check());
    const MutableByteSpan part = MutableByteSpan(piece).first(std::min<uint64_t>(piece.size(), bytes - done));
    WD_TRY(file.ReadAt(offset + done, part));
    sha256.Update(part);
    done += part.size();
  }
  return sha256.Finish();
}

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

Result<Way> DescribePack(const std::string& path, const Context& context) {
  WD_ASSIGN(const std::unique_ptr<DeltaReader> reader, OpenDelta(path, Trust::kIndex, context));
  WD_ASSIGN(const std::vector<uint64_t> cuts, reader->CutPoints(kMaxObjectBytes));
  Way way;
  for (size_t i = 0; i < cuts.size(); ++i) {
    way.objects.push_back({{}, (i + 1 < cuts.size() ? cuts[i + 1] : reader->bytes()) - cuts[i]});
  }
  WD_ASSIGN(const File file, File::OpenForRead(path));
  WD_ASSIGN(const std::vector<Sha256Digest> digests, DigestSlices(file, way, context));
  for (size_t i = 0; i < digests.size(); ++i) way.objects[i].sha256 = digests[i];
  return way;
}

Result<Uploaded> UploadPack(Remote& remote, const std::string& path, const Way& way, unsigned jobs,
                            const Context& context) {
  WD_ASSIGN(const File file, File::OpenForRead(path));
  const std::vector<uint64_t> offsets = Offsets(way);
  Uploaded uploaded;
  Progress progress{0, way.bytes()};
  // Each object may itself go up in several parts at a time.
  WD_TRY(RunOrdered<bool>(
      way.objects.size(), Jobs(std::min(jobs ? jobs : kDefaultJobs, 2U), context),
      [&](uint64_t i, unsigned) -> Result<bool> {
        bool reused = false;
        WD_TRY(SendObject(remote, file, offsets[i], way.objects[i], &reused));
        return reused;
      },
      [&](uint64_t i, bool reused) -> Result<> {
        if (reused) uploaded.reused.push_back(way.objects[i]);
        if (!reused) uploaded.bytes += way.objects[i].bytes;
        progress.done_bytes += way.objects[i].bytes;
        context.progress(progress);
        return {};
      }));
  return uploaded;
}

Result<> SecureReused(Remote& remote, const std::string& path, const Way& way, const Uploaded& uploaded) {
  if (uploaded.reused.empty()) return {};
  WD_ASSIGN(const File file, File::OpenForRead(path));
  const std::vector<uint64_t> offsets = Offsets(way);
  for (size_t i = 0; i < way.objects.size(); ++i) {
    const ObjectRef& object = way.objects[i];
    if (std::find(uploaded.reused.begin(), uploaded.reused.end(), object) == uploaded.reused.end()) continue;
    WD_ASSIGN(const std::optional<ObjectInfo> info, remote.Stat(ObjectKey(object.sha256)));
    if (info && info->size == object.bytes) continue;
    bool reused = false;
    WD_TRY(SendObject(remote, file, offsets[i], object, &reused));
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
  std::error_code failed;
  return std::filesystem::file_size(PathOf(way), failed) == way.bytes() && !failed;
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
    WD_ASSIGN(const std::vector<Sha256Digest> digests, DigestSlices(file, way, context));
    bool right = true;
    for (size_t i = 0; i < digests.size(); ++i) right = right && digests[i] == way.objects[i].sha256;
    if (right) return {};
    unlink(path.c_str());  // the disk has lost something
  }
  const std::vector<Piece> pieces = PiecesOf(way);
  const std::vector<uint64_t> offsets = Offsets(way);
  std::vector<unsigned> attempts(way.objects.size());
  for (;;) {
    Bytes map = ReadMap(map_path, pieces.size());
    WD_ASSIGN(const File file, OpenOrCreate(part, way.bytes()));
    WD_ASSIGN(const File map_file, OpenOrCreate(map_path, pieces.size()));
    std::vector<size_t> missing;
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (!map[i]) missing.push_back(i);
    }
    Progress progress{0, way.bytes()};
    for (size_t i = 0; i < pieces.size(); ++i) progress.done_bytes += map[i] ? pieces[i].bytes : 0;
    WD_TRY(RunOrdered<bool>(
        missing.size(), Jobs(jobs, context),
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
            Error error{ErrorKind::kIntegrity, "object '" + remote.url() + "/" + ObjectKey(object.sha256) + "' has " +
                                                   std::to_string(read.size) + " bytes, its record says " +
                                                   std::to_string(object.bytes)};
            error.path = remote.url() + "/" + ObjectKey(object.sha256);
            return error;
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
    WD_ASSIGN(const std::vector<Sha256Digest> digests, DigestSlices(file, way, context));
    bool again = false;
    for (size_t i = 0; i < digests.size(); ++i) {
      if (digests[i] == way.objects[i].sha256) continue;
      // It may have been damaged on the way, or by a crash after an earlier run noted it as fetched: once more.
      if (++attempts[i] > 2) return WrongObject(remote, way.objects[i], digests[i]);
      again = true;
      const uint8_t not_done = 0;
      for (size_t p = 0; p < pieces.size(); ++p) {
        if (pieces[p].object == i) WD_TRY(map_file.WriteAt(p, ByteSpan(&not_done, 1)));
      }
    }
    if (again) continue;
    WD_TRY(Rename(part, path, false));
    unlink(map_path.c_str());
    return {};
  }
}

void PackStore::KeepOnly(const std::vector<Way>& ways) const {
  std::vector<std::string> kept;
  kept.reserve(ways.size());
  for (const Way& way : ways) kept.push_back(LastComponent(PathOf(way)));
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, failed)) {
    const std::string name = entry.path().filename().string();
    if (std::find(kept.begin(), kept.end(), name) == kept.end()) unlink(entry.path().c_str());
  }
}

Result<OpenedTarget> OpenRoute(const Route& route, const PackStore& packs, const std::string& base,
                               const FileChoice& files, const Context& context) {
  std::vector<std::string> paths;
  for (const RouteWay& way : route.ways) paths.push_back(packs.PathOf(way.way));
  return OpenPacks(route.start > 0 ? base : "", paths, files, Trust::kIndex, context);
}

}  // namespace wdelta
