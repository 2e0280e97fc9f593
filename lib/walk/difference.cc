#include "walk/difference.h"

#include <algorithm>

namespace wdelta {

ChangeKind Relate(const Tensor* base, const Tensor& next) {
  if (!base) return ChangeKind::kAdded;
  if (base->dtype != next.dtype) return ChangeKind::kRetyped;
  return base->SameForm(next) ? ChangeKind::kSame : ChangeKind::kReshaped;
}

namespace {

std::vector<FileChange> CompareFiles(const Layout& base, const Layout& next) {
  std::vector<FileChange> changes;
  const auto compare = [&](const std::vector<LayoutFile>& before, const std::vector<LayoutFile>& after,
                           bool is_header) {
    auto old_file = before.begin();
    for (const LayoutFile& file : after) {
      for (; old_file != before.end() && old_file->path < file.path; ++old_file) {
        changes.push_back({old_file->path, ChangeKind::kRemoved, is_header});
      }
      const bool in_both = old_file != before.end() && old_file->path == file.path;
      if (!in_both) changes.push_back({file.path, ChangeKind::kAdded, is_header});
      if (in_both && old_file->sha256 != file.sha256) changes.push_back({file.path, ChangeKind::kChanged, is_header});
      if (in_both) ++old_file;
    }
    for (; old_file != before.end(); ++old_file) changes.push_back({old_file->path, ChangeKind::kRemoved, is_header});
  };
  compare(base.shards, next.shards, true);
  compare(base.companions, next.companions, false);
  return changes;
}

}  // namespace

Difference Summarize(const Checkpoint* base, const Target& target, const std::vector<uint64_t>& units_changed) {
  Difference all;
  static const Layout kNoFiles;
  all.files = CompareFiles(base ? base->layout() : kNoFiles, target.layout());
  all.totals.files_changed = all.files.size();
  const auto dims = [](const Tensor& tensor) { return std::vector(tensor.shape.begin(), tensor.shape.end()); };
  for (size_t i = 0; i < target.tensors().size(); ++i) {
    const Tensor& tensor = target.tensors()[i];
    const Tensor* old_tensor = base ? base->Find(tensor.name) : nullptr;
    TensorChange change;
    change.name = tensor.name;
    change.kind = Relate(old_tensor, tensor);
    change.dtype = DtypeName(tensor.dtype);
    change.shape = dims(tensor);
    change.shard = target.layout().shards[tensor.shard].path;
    change.elements = tensor.units();
    change.bytes = tensor.bytes;
    change.elements_changed = change.kind == ChangeKind::kSame ? units_changed[i] : change.elements;
    if (change.kind == ChangeKind::kSame && units_changed[i] > 0) change.kind = ChangeKind::kChanged;
    if (change.kind == ChangeKind::kRetyped || change.kind == ChangeKind::kReshaped) {
      change.old_dtype = DtypeName(old_tensor->dtype);
      change.old_shape = dims(*old_tensor);
    }
    all.totals.tensors_total += 1;
    all.totals.elements_total += change.elements;
    all.totals.bytes_total += change.bytes;
    all.totals.elements_changed += change.elements_changed;
    all.totals.bytes_changed += change.elements_changed * UnitBytes(tensor.dtype);
    all.totals.tensors_added += change.kind == ChangeKind::kAdded;
    all.totals.tensors_changed += change.kind != ChangeKind::kAdded && change.kind != ChangeKind::kSame;
    all.tensors.push_back(std::move(change));
  }
  for (size_t i = 0; base && i < base->tensors().size(); ++i) {
    const Tensor& tensor = base->tensors()[i];
    if (FindTensor(target.tensors(), tensor.name)) continue;
    TensorChange change;
    change.name = tensor.name;
    change.kind = ChangeKind::kRemoved;
    change.old_dtype = DtypeName(tensor.dtype);
    change.old_shape = dims(tensor);
    change.shard = base->layout().shards[tensor.shard].path;
    change.elements = tensor.units();
    change.bytes = tensor.bytes;
    all.totals.tensors_removed += 1;
    all.tensors.push_back(std::move(change));
  }
  std::sort(all.tensors.begin(), all.tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

}  // namespace wdelta
