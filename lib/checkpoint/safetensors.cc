#include "checkpoint/safetensors.h"

#include "checkpoint/safetensors_parser.h"
#include "core/json.h"

namespace wdelta {

namespace {

Error Malformed(const std::string& path, const std::string& why, std::string expected = "", std::string found = "") {
  return Error{ErrorKind::kIntegrity, "'" + path + "': " + why}.At(path).Compared(std::move(expected),
                                                                                  std::move(found));
}

Result<> CheckLength(uint64_t json_bytes, uint64_t file_bytes, const std::string& path) {
  if (json_bytes > kMaxHeaderBytes) {
    return Malformed(path,
                     "header of " + std::to_string(json_bytes) + " bytes, at most " + std::to_string(kMaxHeaderBytes) +
                         " are allowed",
                     std::to_string(kMaxHeaderBytes), std::to_string(json_bytes));
  }
  if (json_bytes > file_bytes - 8) {
    return Malformed(path,
                     "header of " + std::to_string(json_bytes) + " bytes ends beyond the file, which has " +
                         std::to_string(file_bytes) + " bytes",
                     std::to_string(json_bytes + 8), std::to_string(file_bytes));
  }
  return {};
}

Error TooSmall(uint64_t file_bytes, const std::string& path) {
  return Malformed(path, "file of " + std::to_string(file_bytes) + " bytes has no room for the length of a header", "8",
                   std::to_string(file_bytes));
}

}  // namespace

Result<SafetensorsHeader> SafetensorsHeader::Read(const File& file) {
  WD_ASSIGN(const FileIdentity identity, file.Identify());
  if (identity.size < 8) return TooSmall(identity.size, file.path());
  uint8_t length[8];
  WD_TRY(file.ReadAt(0, length));
  const auto json_bytes = Load<uint64_t>(length);
  WD_TRY(CheckLength(json_bytes, identity.size, file.path()));
  Bytes bytes(8 + json_bytes);
  WD_TRY(file.ReadAt(0, bytes));
  return Parse(std::move(bytes), identity.size, file.path());
}

Result<SafetensorsHeader> SafetensorsHeader::Parse(Bytes bytes, uint64_t file_bytes, const std::string& path) {
  if (file_bytes < 8 || bytes.size() < 8) return TooSmall(std::min<uint64_t>(file_bytes, bytes.size()), path);
  const auto json_bytes = Load<uint64_t>(bytes.data());
  WD_TRY(CheckLength(json_bytes, file_bytes, path));
  if (bytes.size() != 8 + json_bytes) {
    return Malformed(
        path, "header of " + std::to_string(json_bytes) + " bytes, " + std::to_string(bytes.size() - 8) + " are there",
        std::to_string(json_bytes), std::to_string(bytes.size() - 8));
  }
  SafetensorsHeader header;
  header.bytes_ = std::move(bytes);
  WD_TRY(SafetensorsParser(path, file_bytes - 8 - json_bytes, &header).Run());
  return header;
}

TensorEntry SafetensorsHeader::tensor(size_t index) const {
  const Entry& entry = entries_[index];
  return {{entry.name, entry.name_bytes},
          static_cast<Dtype>(entry.dtype),
          std::span(shapes_).subspan(entry.shape_at, entry.rank),
          entry.begin,
          entry.end};
}

void SafetensorsHeader::ForEachMetadata(
    const std::function<bool(std::string_view key, std::string_view value)>& visit) const {
  if (metadata_at_ == 0) return;
  JsonReader json(AsText(bytes_).substr(metadata_at_));
  if (!json.BeginObject().ok()) return;  // cannot happen from here on: Parse has read it all before
  for (;;) {
    const auto key = json.NextKey();
    if (!key.ok() || !*key) return;
    // A key and a value with escapes would share the reader's one place for them.
    const std::string key_text = json.KeyIsVerbatim() ? "" : json.TakeKey();
    const auto value = json.String();
    if (!value.ok() || !visit(key_text.empty() ? **key : key_text, *value)) return;
  }
}

std::optional<std::string> SafetensorsHeader::Metadata(std::string_view key) const {
  std::optional<std::string> found;
  ForEachMetadata([&](std::string_view each, std::string_view value) {
    if (each == key) found = value;
    return !found;
  });
  return found;
}

}  // namespace wdelta
