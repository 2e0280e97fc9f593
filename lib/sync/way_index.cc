#include "sync/way_index.h"

#include <algorithm>

#include "pack/pack_format.h"

namespace wdelta {

namespace {

// Fills [begin, end) of `file` with those bytes of the pack.
Result<> CopyRange(Remote& remote, const Way& way, uint64_t begin, uint64_t end, const File& file) {
  uint64_t object_begin = 0;
  for (const ObjectRef& object : way.objects) {
    const uint64_t object_end = object_begin + object.bytes;
    for (uint64_t at = std::max(begin, object_begin); at < std::min(end, object_end);) {
      const uint64_t length = std::min<uint64_t>(8 << 20, std::min(end, object_end) - at);
      WD_ASSIGN(const ObjectPiece piece, remote.Read(ObjectKey(object.sha256), at - object_begin, length));
      if (piece.size != object.bytes || piece.bytes.size() != length) {
        return Error{ErrorKind::kIntegrity, "object '" + remote.url() + "/" + ObjectKey(object.sha256) +
                                                "' does not have the size that its record says"};
      }
      WD_TRY(file.WriteAt(at, piece.bytes));
      at += length;
    }
    object_begin = object_end;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<DeltaReader>> OpenWayIndex(Remote& remote, const Way& way, const Context& context) {
  // A file with holes stands for the pack: only what opening it reads is there.
  WD_ASSIGN(File file, File::CreateUnnamed(context.environment));
  const uint64_t bytes = way.bytes();
  constexpr uint64_t kHead = 256 << 10, kTail = 256 << 10;
  WD_TRY(file.Resize(bytes));
  WD_TRY(CopyRange(remote, way, bytes - std::min(bytes, kTail), bytes, file));
  if (bytes < kPackHeaderBytes + kEndSectionBytes) return Error{ErrorKind::kIntegrity, "a pack that ends too early"};
  Bytes end(8);
  WD_TRY(file.ReadAt(bytes - kEndSectionBytes + 2, end));
  const uint64_t index_offset = std::min(bytes, Load<uint64_t>(end.data()));
  if (index_offset < bytes - std::min(bytes, kTail)) {
    WD_TRY(CopyRange(remote, way, index_offset, bytes - kTail, file));
  }
  WD_TRY(CopyRange(remote, way, 0, std::min(bytes, kHead), file));
  Bytes head(11);
  WD_TRY(file.ReadAt(kPackHeaderBytes, head));
  ByteReader in(head);
  WD_TRY(in.Fixed<uint8_t>());
  WD_ASSIGN(const uint64_t layout_bytes, in.Varint());
  const uint64_t layout_end = kPackHeaderBytes + head.size() + std::min(layout_bytes, bytes);
  if (layout_end > kHead) WD_TRY(CopyRange(remote, way, kHead, std::min(bytes, layout_end), file));
  return OpenPack(std::move(file), remote.url() + "/" + ObjectKey(way.objects.back().sha256), Trust::kIndex);
}

Result<std::vector<uint32_t>> TensorDigestsOf(Remote& remote, const RecordEntry& entry,
                                              const std::vector<std::string_view>& names, const Context& context) {
  WD_ASSIGN(const std::unique_ptr<DeltaReader> reader,
            OpenWayIndex(remote, entry.delta ? *entry.delta : *entry.anchor, context));
  const DeltaIndex& index = reader->index();
  const auto other = [&] {
    return Error{ErrorKind::kConflict, "record " + std::to_string(entry.number) + " has other tensors",
                 "pull it into a folder and compare that"};
  };
  std::vector<std::string_view> base_names;
  for (const std::string_view name : names) {
    const std::optional<size_t> record = reader->FindRecord(name);
    if (!record || index.tensors[*record].kind != ChangeKind::kAdded) base_names.push_back(name);
  }
  for (const RemovedTensor& removed : index.removed) base_names.push_back(removed.name);
  std::sort(base_names.begin(), base_names.end());
  if (index.totals.tensors_total != names.size() || base_names.size() != index.base_tensors.size()) return other();
  std::vector<uint32_t> digests;
  for (const std::string_view name : names) {
    if (const std::optional<size_t> record = reader->FindRecord(name)) {
      digests.push_back(index.tensors[*record].digest);
      continue;
    }
    const auto at = std::lower_bound(base_names.begin(), base_names.end(), name);
    digests.push_back(index.base_tensors[static_cast<size_t>(at - base_names.begin())]);
  }
  for (const TensorRecord& record : index.tensors) {
    if (!std::binary_search(names.begin(), names.end(), record.name)) return other();
  }
  return digests;
}

Result<FileChoice> ChoiceOf(Remote& remote, const RecordEntry& entry, const FileChoice& given, const Context& context) {
  if (!given.include.empty() || !given.exclude.empty()) return given;
  Result<std::unique_ptr<DeltaReader>> reader =
      OpenWayIndex(remote, entry.delta ? *entry.delta : *entry.anchor, context);
  if (!reader.ok() && reader.error().kind == ErrorKind::kNotFound) return given;  // gc removed it
  if (!reader.ok()) return reader.TakeError();
  const Layout& layout = (*reader)->index().layout;
  return FileChoice{layout.include, layout.exclude};
}

}  // namespace wdelta
