// Looking inside: the index of a delta or a checkpoint, or one tensor's bytes.
#include "calls/inner.h"
#include "checkpoint/hex_identity.h"
#include "core/boundary.h"
#include "foreign/foreign.h"
#include "walk/chain.h"

namespace wdelta {

namespace {

CatReport DescribeDelta(const DeltaReader& delta) {
  const DeltaIndex& index = delta.index();
  CatReport report;
  report.kind = delta.kind();
  report.is_delta = true;
  report.base = HexIdentity(index.base);
  report.result = HexIdentity(index.result);
  report.totals = index.totals;
  report.bytes = delta.bytes();
  for (const TensorRecord& record : index.tensors) {
    TensorChange change;
    change.name = record.name;
    change.kind = record.kind;
    change.dtype = DtypeName(record.dtype);
    change.shape = record.shape;
    if (record.kind == ChangeKind::kReshaped || record.kind == ChangeKind::kRetyped) {
      change.old_dtype = DtypeName(record.old_dtype);
      change.old_shape = record.old_shape;
    }
    change.bytes = *TensorBytes(record.dtype, record.shape);
    change.elements = change.bytes / UnitBytes(record.dtype);
    change.elements_changed = record.units_changed;
    report.tensors.push_back(std::move(change));
  }
  for (const RemovedTensor& removed : index.removed) {
    TensorChange change;
    change.name = removed.name;
    change.kind = ChangeKind::kRemoved;
    change.old_dtype = DtypeName(removed.dtype);
    change.old_shape = removed.shape;
    report.tensors.push_back(std::move(change));
  }
  for (size_t file = 0; file < index.layout.file_count(); ++file) {
    const bool is_header = file < index.layout.shards.size();
    if (index.carried[file]) report.files.push_back({index.layout.file(file).path, ChangeKind::kChanged, is_header});
  }
  return report;
}

CatReport DescribeCheckpoint(const Checkpoint& checkpoint) {
  CatReport report;
  report.kind = "checkpoint";
  report.bytes = report.totals.bytes_total = checkpoint.data_bytes();
  for (const Tensor& tensor : checkpoint.tensors()) {
    TensorChange row;
    row.name = tensor.name;
    row.dtype = DtypeName(tensor.dtype);
    row.shape.assign(tensor.shape.begin(), tensor.shape.end());
    row.shard = checkpoint.layout().shards[tensor.shard].path;
    row.elements = tensor.units();
    row.bytes = tensor.bytes;
    report.totals.elements_total += row.elements;
    report.tensors.push_back(std::move(row));
  }
  report.totals.tensors_total = report.tensors.size();
  for (size_t file = 0; file < checkpoint.layout().file_count(); ++file) {
    const bool is_header = file < checkpoint.layout().shards.size();
    report.files.push_back({checkpoint.layout().file(file).path, ChangeKind::kSame, is_header});
  }
  return report;
}

Error NoTensor(const std::string& tensor, const std::string& subject) {
  return Error{ErrorKind::kNotFound, "no tensor '" + tensor + "' in '" + subject + "'",
               "'wdelta cat " + subject + "' lists them", subject, tensor};
}

// Writes a tensor of `target`, which needs no base, to `output`.
Result<CatReport> WriteTensorBytes(const Target& target, const char* kind, const CatRequest& request) {
  const Tensor* tensor = FindTensor(target.tensors(), request.tensor);
  if (!tensor) return NoTensor(request.tensor, request.subject);
  WD_ASSIGN(const auto sink, OpenSink(request.output));
  WalkScratch scratch;
  for (uint64_t number = 0; number < BlockCount(tensor->bytes); ++number) {
    const auto index = static_cast<uint32_t>(tensor - target.tensors().data());
    WD_ASSIGN(const LoadedBlock block, target.Load(index, number, scratch));
    WD_TRY(sink->Write(block.new_block));
  }
  WD_TRY(sink->Commit());
  CatReport report;
  report.kind = kind;
  report.bytes = tensor->bytes;
  return report;
}

}  // namespace

Result<CatReport> ReadIndex(const std::string& path, const Context& context) {
  WD_ASSIGN(const auto delta, OpenOwnDelta(path, Trust::kIndex, context));
  return DescribeDelta(*delta);
}

Result<CatReport> Cat(const CatRequest& request, const Context& context) {
  return Guarded([&]() -> Result<CatReport> {
    WD_ASSIGN(const bool is_delta, LooksLikeAnyDelta(request.subject));
    if (!is_delta) {
      WD_ASSIGN(const Checkpoint checkpoint, Checkpoint::Open(request.subject, {}, context.note));
      if (request.tensor.empty()) return DescribeCheckpoint(checkpoint);
      return WriteTensorBytes(*PairTarget(nullptr, checkpoint), "checkpoint", request);
    }
    if (request.tensor.empty()) return ReadIndex(request.subject, context);
    WD_ASSIGN(auto delta, OpenOwnDelta(request.subject, Trust::kIndex, context));
    if (!delta->index().anchor) {
      return Error{ErrorKind::kUsage, "'" + request.subject + "' is a delta, its tensors need a base",
                   "'wdelta apply' rebuilds the checkpoint, and 'wdelta cat' then shows its tensors"};
    }
    std::vector<std::unique_ptr<DeltaReader>> deltas;
    deltas.push_back(std::move(delta));
    WD_ASSIGN(const auto chain, OpenChain(nullptr, std::move(deltas)));
    return WriteTensorBytes(*chain, "pack", request);
  });
}

}  // namespace wdelta
