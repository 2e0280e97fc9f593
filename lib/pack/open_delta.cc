#include <algorithm>

#include "pack/container.h"
#include "pack/plain_format.h"

namespace wdelta {

std::optional<size_t> DeltaReader::FindRecord(std::string_view name) const {
  const auto at = std::ranges::lower_bound(index_.tensors, name, {}, &TensorRecord::name);
  if (at == index_.tensors.end() || at->name != name) return std::nullopt;
  return static_cast<size_t>(at - index_.tensors.begin());
}

Result<> DeltaReader::Named(Result<> result) const {
  if (result.ok()) return {};
  auto error = result.TakeError();
  if (error->path != path_) {
    error->message = std::string(kind()) + " '" + path_ + "': " + error->message;
    error->path = path_;
  }
  return error;
}

Result<std::string> DeltaReader::FindDamagedFile() const {
  for (size_t file = 0; file < index_.layout.file_count(); ++file) {
    if (!index_.carried[file]) continue;
    const LayoutFile& entry = index_.layout.file(file);
    Sha256 sha256;
    for (uint64_t number = 0; number < BlockCount(entry.bytes); ++number) {
      WD_ASSIGN(const Bytes content, ReadFileBlock(file, number));
      sha256.Update(content);
    }
    if (sha256.Finish() != entry.sha256) return entry.path;
  }
  return std::string();
}

Result<std::vector<uint64_t>> DeltaReader::CutPoints(uint64_t) const {
  return Error{ErrorKind::kRefused,
               "'" + path_ + "' is a " + std::string(kind()) + ", and only packs are cut into parts",
               "make a pack of it with 'wdelta pack'"};
}

namespace {

Result<Bytes> FirstBytes(const File& file) {
  WD_ASSIGN(const FileIdentity identity, file.Identify());
  Bytes first(std::min<uint64_t>(identity.size, 16));
  WD_TRY(file.ReadAt(0, first));
  return first;
}

}  // namespace

Result<std::unique_ptr<DeltaReader>> OpenDelta(const std::string& path, Trust trust, const Context& context) {
  if (IsFolder(path)) {
    return Error{ErrorKind::kRefused, "'" + path + "' is a folder, and no delta of a format that is known",
                 "'man wdelta-formats' lists those that are"}
        .At(path);
  }
  const bool from_pipe = path == "-";
  const std::string name = from_pipe ? "standard input" : path;
  WD_ASSIGN(File file, from_pipe ? SpoolStandardInput(context) : File::OpenForRead(path));
  WD_ASSIGN(const Bytes first, FirstBytes(file));
  if (first.empty()) {
    Error error{ErrorKind::kIntegrity, "'" + name + "' is empty"};
    error.path = name;
    if (from_pipe) error.hint = "the command before the pipe failed";
    return error;
  }
  if (LooksLikePack(first)) return OpenPack(std::move(file), name, trust);
  return OpenPlainDelta(std::move(file), name);
}

Result<bool> LooksLikeDelta(const std::string& path) {
  if (IsFolder(path)) return false;
  WD_ASSIGN(const File file, File::OpenForRead(path));
  WD_ASSIGN(const Bytes first, FirstBytes(file));
  if (LooksLikePack(first)) return true;
  // A plain delta has our key in its header. Looking for it as text costs next to nothing; whoever opens the file reads
  // the header by the rules, and a hostile one shall not be read twice.
  WD_ASSIGN(const FileIdentity identity, file.Identify());
  if (first.size() < 8) return false;
  const auto length = Load<uint64_t>(first.data());
  if (length > kMaxHeaderBytes || length > identity.size - 8) return false;
  Bytes header(length);
  WD_TRY(file.ReadAt(8, header));
  return Contains(header, kPlainVersionKey);
}

}  // namespace wdelta
