#include "canonical/version_store.h"

#include <unistd.h>

#include <algorithm>

#include "canonical/whole_version.h"
#include "core/parallel.h"
#include "core/state_file.h"
#include "foreign/foreign_parts.h"
#include "sync/object_transfer.h"

namespace wdelta {

namespace {

const std::string kFileKey = "file ";  // before a name in the list of what is complete

// Fetches a file in pieces, all of which have the etag of the first.
Result<> FetchFile(Remote& remote, const std::string& key, const std::string& path, unsigned jobs, ObjectPiece first,
                   const std::function<void(uint64_t)>& came) {
  unlink(path.c_str());
  WD_ASSIGN(const File file, File::CreateNew(path));
  WD_TRY(file.WriteAt(0, first.bytes));
  came(first.bytes.size());
  const uint64_t begin = first.bytes.size();
  const uint64_t pieces = (first.size - begin + kPieceBytes - 1) / kPieceBytes;
  return RunOrdered<uint64_t>(
      pieces, {jobs, jobs},
      [&](uint64_t n, unsigned) -> Result<uint64_t> {
        const uint64_t at = begin + n * kPieceBytes;
        WD_ASSIGN(const ObjectPiece piece, remote.Read(key, at, std::min(kPieceBytes, first.size - at), first.etag));
        if (piece.size != first.size) {
          return Error{ErrorKind::kConflict, "'" + remote.url() + "/" + key + "' changed while it was read"};
        }
        WD_TRY(file.WriteAt(at, piece.bytes));
        return piece.bytes.size();
      },
      [&](uint64_t, uint64_t bytes) -> Result<> {
        came(bytes);
        return {};
      });
}

}  // namespace

std::string VersionStore::KeyOf(uint64_t version, const std::string& name) const {
  return prefix_ + VersionFolder(version) + "/" + name;
}

Result<std::optional<LatestVersion>> VersionStore::ReadPointer() {
  Result<ObjectPiece> piece = remote_.Read(kLatestKey, 0, kMaxPointerBytes + 1);
  if (!piece.ok() && piece.error().kind == ErrorKind::kNotFound) return std::optional<LatestVersion>();
  if (!piece.ok()) return piece.TakeError();
  Result<VersionPointer> pointer = ParsePointer(AsText(piece->bytes));
  if (pointer.ok()) return std::optional(LatestVersion{std::move(*pointer), piece->etag});
  auto error = pointer.TakeError();
  error->message = "'" + remote_.url() + "/" + kLatestKey + "': " + error->message;
  error->path = remote_.url() + "/" + kLatestKey;
  return error;
}

Result<std::optional<uint64_t>> VersionStore::NewestBelow(const std::string& prefix) {
  std::optional<uint64_t> newest;
  WD_ASSIGN(const Listing listing, ListAll(remote_, prefix + "weight_v"));
  for (const ObjectInfo& object : listing.objects) {
    const std::string_view rest = std::string_view(object.key).substr(prefix.size());
    const size_t slash = rest.find('/');
    const std::optional<uint64_t> version = VersionOfFolder(rest.substr(0, slash));
    if (version && slash != std::string_view::npos && rest.substr(slash + 1) == kIndexFile) {
      newest = std::max(newest.value_or(0), *version);
    }
  }
  return newest;
}

Result<LatestVersion> VersionStore::FindLatest() {
  WD_ASSIGN(const std::optional<LatestVersion> pointed, ReadPointer());
  return pointed ? Result<LatestVersion>(*pointed) : FindUnpointed();
}

Result<LatestVersion> VersionStore::FindUnpointed() {
  for (const char* prefix : {kVersionPrefix, ""}) {
    Result<std::optional<uint64_t>> newest = NewestBelow(prefix);
    if (!newest.ok() && newest.error().kind == ErrorKind::kRefused) break;  // it cannot list
    if (!newest.ok()) return newest.TakeError();
    if (!*newest) continue;
    prefix_ = prefix;
    return LatestVersion{{"", **newest}, ""};
  }
  return Error{ErrorKind::kNotFound, "'" + remote_.url() + "' holds no history, and no versions of other systems",
               "'wdelta push CKPT " + remote_.url() + "' begins one", remote_.url()};
}

Result<CanonicalIndex> VersionStore::ReadIndex(uint64_t version) {
  const std::string key = KeyOf(version, kIndexFile);
  const auto failed = [&](Error error, const std::string& why) {
    error.message = "version " + VersionName(version) + " of '" + remote_.url() + "' " + why;
    error.path = remote_.url() + "/" + key;
    return error;
  };
  Result<ObjectPiece> piece = remote_.Read(key, 0, kMaxIndexFileBytes + 1);
  if (!piece.ok() && piece.error().kind == ErrorKind::kNotFound) return failed(piece.error(), "is not there");
  if (!piece.ok()) return piece.TakeError();
  if (piece->size > kMaxIndexFileBytes)
    return failed(Error{ErrorKind::kIntegrity, ""}, "has an index that is too large");
  Result<CanonicalIndex> index = ReadCanonicalIndex(AsText(piece->bytes));
  if (!index.ok()) return failed(index.error(), "cannot be read: " + index.error().message);
  if (!index->is_delta()) return index;
  if (VersionNumber(index->Value("version")) != version) {
    return failed(Error{ErrorKind::kIntegrity, ""}, "says that it is '" + index->Value("version") + "'");
  }
  const std::optional<uint64_t> base = VersionNumber(index->Value("base_version"));
  if (!base || *base >= version) {
    return failed(Error{ErrorKind::kIntegrity, ""}, "says that its base is '" + index->Value("base_version") + "'");
  }
  return index;
}

Result<std::string> VersionStore::MarkOf(uint64_t version) {
  WD_ASSIGN(const std::optional<ObjectInfo> info, remote_.Stat(KeyOf(version, kIndexFile)));
  return info ? std::to_string(info->size) + " bytes at " + std::to_string(info->modified) : std::string();
}

Result<std::vector<std::string>> VersionStore::KeysOf(uint64_t version) {
  WD_ASSIGN(const Listing listing, ListAll(remote_, KeyOf(version, "")));
  std::vector<std::string> keys;
  for (const ObjectInfo& object : listing.objects) keys.push_back(object.key);
  return keys;
}

Result<Sha256Digest> VersionStore::SealOf(uint64_t version) {
  WD_ASSIGN(const std::vector<std::string> keys, KeysOf(version));
  const auto describe = [&](uint64_t i) -> Result<std::string> {
    WD_ASSIGN(const ObjectPiece piece, remote_.Read(keys[i], 0, 1));
    return keys[i] + "\n" + piece.etag + "\n" + std::to_string(piece.size) + "\n";
  };
  WD_ASSIGN(const std::vector<std::string> lines, CollectOrdered<std::string>(keys.size(), {4, 4}, describe));
  Sha256 sha256;
  for (const std::string& line : lines) sha256.Update(AsBytes(line));
  return sha256.Finish();
}

Result<std::optional<Bytes>> VersionStore::ReadSums(uint64_t version) {
  Result<ObjectPiece> sums = remote_.Read(KeyOf(version, kSumsFile), 0, kMaxSumsBytes);
  if (!sums.ok() && sums.error().kind == ErrorKind::kNotFound) return std::optional<Bytes>();
  if (!sums.ok()) return sums.TakeError();
  return std::optional(std::move(sums->bytes));
}

Result<std::vector<VersionFile>> VersionStore::FilesOf(uint64_t version, const CanonicalIndex& index) {
  std::vector<VersionFile> files;
  std::vector<std::string> names;
  if (index.is_delta()) {
    names = index.Shards();
    names.emplace_back(kSumsFile);
  } else {
    WD_ASSIGN(names, KeysOf(version));
    const size_t prefix = KeyOf(version, "").size();
    for (std::string& name : names) name.erase(0, prefix);
    std::erase(names, kIndexFile);
  }
  names.emplace_back(kIndexFile);  // last, as it was written
  for (const std::string& name : names) {
    if (index.is_delta() && name != kIndexFile && name != kSumsFile && !IsPlainShardName(name)) {
      return Error{ErrorKind::kRefused,
                   "version " + VersionName(version) + " has a shard whose name is a path: '" + name + "'",
                   "do not trust its sender"};
    }
    WD_TRY(CheckCompanionPath(name));
    WD_ASSIGN(const std::optional<ObjectInfo> info, remote_.Stat(KeyOf(version, name)));
    if (!info && name == kSumsFile) continue;  // others do not have it
    if (!info) {
      return Error{ErrorKind::kNotFound,
                   "'" + name + "' of version " + VersionName(version) + " is not in '" + remote_.url() + "'"};
    }
    files.push_back({name, info->size});
  }
  return files;
}

Result<> VersionStore::Fetch(uint64_t version, const std::vector<VersionFile>& files, const std::string& folder,
                             unsigned jobs, const Context& context, uint64_t* wire_bytes) {
  WD_TRY(CreateFolders(folder));
  const std::string list = folder + ".json";  // of what is complete, beside it
  WD_ASSIGN(StateFile complete, StateFile::Read(list));
  Progress progress;
  for (const VersionFile& file : files) progress.total_bytes += file.bytes;
  for (const VersionFile& file : files) {
    const std::string key = KeyOf(version, file.name), path = folder + "/" + file.name;
    const std::optional<uint64_t> size = SizeOfFile(path);
    const bool may_be_here = size && complete.Has(kFileKey + file.name);
    WD_ASSIGN(ObjectPiece first, remote_.Read(key, 0, may_be_here ? 1 : kPieceBytes));
    const std::string mark = first.etag + " " + std::to_string(first.size);
    if (may_be_here) {
      *wire_bytes += first.bytes.size();
      if (size == first.size && !first.etag.empty() && complete.Text(kFileKey + file.name) == mark) {
        progress.done_bytes += *size;
        continue;
      }
      WD_ASSIGN(first, remote_.Read(key, 0, kPieceBytes, first.etag));
    }
    WD_TRY(CreateFolders(ParentFolder(path)));
    WD_TRY(FetchFile(remote_, key, path, jobs, std::move(first), [&](uint64_t bytes) {
      *wire_bytes += bytes;
      progress.done_bytes += bytes;
      context.progress(progress);
    }));
    complete.Set(kFileKey + file.name, mark);
    WD_TRY(complete.Write(list, false));
  }
  return {};
}

Result<bool> VersionStore::MovePointer(const std::optional<LatestVersion>& before, const VersionPointer& pointer,
                                       bool single_writer) {
  const std::string text = PointerText(pointer);
  const WriteRule rule = single_writer ? WriteRule::kReplace : before ? WriteRule::kIfEtag : WriteRule::kIfAbsent;
  const std::string etag = rule == WriteRule::kIfEtag ? before->etag : "";
  WD_ASSIGN(const WriteResult result, remote_.Write(kLatestKey, MemorySource(AsBytes(text)), rule, etag));
  return result == WriteResult::kWritten;
}

}  // namespace wdelta
