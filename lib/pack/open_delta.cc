#include <algorithm>

#include "pack/container.h"
#include "pack/plain_format.h"

namespace wdelta {

std::optional<size_t> DeltaReader::FindRecord(std::string_view name) const {
  const auto at = std::lower_bound(index_.tensors.begin(), index_.tensors.end(), name,
                                   [](const TensorRecord& record, std::string_view key) { return record.name < key; });
  if (at == index_.tensors.end() || at->name != name) return std::nullopt;
  return static_cast<size_t>(at - index_.tensors.begin());
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
    Error error{ErrorKind::kRefused, "'" + path + "' is a folder, and no delta of a format that is known",
                "'man wdelta-formats' lists those that are"};
    error.path = path;
    return error;
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
