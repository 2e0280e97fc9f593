#include "sync/way_index.h"

#include <algorithm>
#include <set>

#include "pack/pack_format.h"
#include "walk/walk.h"

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

Result<TensorList> ListTensors(const Checkpoint& checkpoint, const Context& context) {
  TensorList list;
  WD_ASSIGN(const std::vector<TensorDigest> digests, DigestTensors(checkpoint, checkpoint.tensors(), context));
  WD_TRY(checkpoint.CheckUnchanged());
  list.state = CombineState(Fingerprint(digests), checkpoint.layout().Digest());
  for (const Tensor& tensor : checkpoint.tensors()) list.names.emplace_back(tensor.name);
  for (const TensorDigest& digest : digests) list.digests.push_back(ShortTensorDigest(digest));
  return list;
}

Result<TensorList> ListTensors(Remote& remote, const RecordEntry& entry, const std::vector<std::string>& names,
                               const Context& context) {
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
  TensorList list{{entry.fingerprint, {}, entry.state}, names, {}};
  for (const std::string_view name : names) {
    if (const std::optional<size_t> record = reader->FindRecord(name)) {
      list.digests.push_back(index.tensors[*record].digest);
      continue;
    }
    const auto at = std::lower_bound(base_names.begin(), base_names.end(), name);
    list.digests.push_back(index.base_tensors[static_cast<size_t>(at - base_names.begin())]);
  }
  for (const TensorRecord& record : index.tensors) {
    if (!std::binary_search(names.begin(), names.end(), record.name)) return other();
  }
  return list;
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

// Only an anchor names all tensors. The deltas after it name those that were added and removed, and their records say
// whether there are any.
Result<std::vector<std::string>> TensorNames(RemoteHistory& history, const RecordEntry& target,
                                             const Context& context) {
  WD_ASSIGN(const std::vector<AddedWay> added, history.ReadAddedWays());
  WD_ASSIGN(const std::vector<RecordEntry> entries, history.Entries(1, target.number));
  uint64_t at = target.number;
  std::optional<Way> anchor;
  for (; !anchor; --at) {
    const RecordEntry& entry = entries[at - 1];
    anchor = entry.anchor;
    for (const AddedWay& way : added) {
      if (way.number == at && way.way.anchor() && way.state == entry.state) anchor = way.way;
    }
    if (anchor) break;
  }
  WD_ASSIGN(const std::unique_ptr<DeltaReader> whole, OpenWayIndex(history.remote(), *anchor, context));
  std::set<std::string> names;
  for (const TensorRecord& tensor : whole->index().tensors) names.insert(tensor.name);
  for (++at; at <= target.number; ++at) {
    WD_ASSIGN(const auto record, history.Read(at));
    if (record->totals.tensors_added + record->totals.tensors_removed == 0) continue;
    WD_ASSIGN(const std::unique_ptr<DeltaReader> delta, OpenWayIndex(history.remote(), *record->entry.delta, context));
    for (const RemovedTensor& removed : delta->index().removed) names.erase(removed.name);
    for (const TensorRecord& tensor : delta->index().tensors) names.insert(tensor.name);
  }
  return std::vector<std::string>(names.begin(), names.end());
}

std::vector<TensorChange> Differing(const TensorList& base, const TensorList& next) {
  std::vector<TensorChange> changes;
  const auto add = [&](const std::string& name, ChangeKind kind) {
    TensorChange& change = changes.emplace_back();
    change.name = name;
    change.kind = kind;
  };
  size_t old = 0;
  for (size_t i = 0; i <= next.names.size(); ++i) {
    const bool at_end = i == next.names.size();
    while (old < base.names.size() && (at_end || base.names[old] < next.names[i])) {
      add(base.names[old++], ChangeKind::kRemoved);
    }
    if (at_end) break;
    if (old == base.names.size() || base.names[old] != next.names[i]) {
      add(next.names[i], ChangeKind::kAdded);
    } else if (base.digests[old++] != next.digests[i]) {
      add(next.names[i], ChangeKind::kChanged);
    }
  }
  return changes;
}

}  // namespace wdelta
