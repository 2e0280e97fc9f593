#include "pack/delta_index.h"

#include <algorithm>

#include "core/json.h"

namespace wdelta {

namespace {

constexpr uint64_t kLoneFileFlag = 1;

void PutForm(ByteWriter& out, Dtype dtype, std::span<const uint64_t> shape) {
  out.Fixed(static_cast<uint8_t>(dtype));
  out.Varint(shape.size());
  for (const uint64_t dimension : shape) out.Varint(dimension);
}

Result<> TakeForm(ByteReader& in, Dtype& dtype, std::vector<uint64_t>& shape) {
  WD_ASSIGN(const uint8_t code, in.Fixed<uint8_t>());
  if (code >= kDtypeCount) return Error{ErrorKind::kIntegrity, "unknown dtype " + std::to_string(code)};
  dtype = static_cast<Dtype>(code);
  WD_ASSIGN(const uint64_t rank, in.Count());
  shape.resize(rank);
  for (uint64_t& dimension : shape) {
    WD_ASSIGN(dimension, in.Varint());
  }
  if (!TensorBytes(dtype, shape)) return Error{ErrorKind::kIntegrity, "shape overflows"};
  return {};
}

Result<std::string> TakeName(ByteReader& in, const std::string* previous) {
  WD_ASSIGN(std::string name, in.Text());
  if (!ValidUtf8(AsBytes(name))) return Error{ErrorKind::kIntegrity, "tensor name is not UTF-8"};
  if (previous && name <= *previous) return Error{ErrorKind::kIntegrity, "tensor names out of order"};
  return name;
}

Result<Sha256Digest> TakeSha256(ByteReader& in) {
  Sha256Digest digest;
  WD_ASSIGN(const ByteSpan bytes, in.Raw(digest.size()));
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

// In the order of their bytes.
constexpr uint64_t Totals::*kTotals[] = {&Totals::elements_total, &Totals::elements_changed, &Totals::bytes_total,
                                         &Totals::bytes_changed,  &Totals::tensors_total,    &Totals::tensors_changed,
                                         &Totals::tensors_added,  &Totals::tensors_removed,  &Totals::files_changed};

Result<> TakePatterns(ByteReader& in, std::vector<std::string>& patterns) {
  WD_ASSIGN(const uint64_t count, in.Count());
  if (count > kMaxPatterns) {
    return Error{ErrorKind::kIntegrity, "more than " + std::to_string(kMaxPatterns) + " patterns"};
  }
  for (uint64_t i = 0; i < count; ++i) {
    WD_ASSIGN(patterns.emplace_back(), in.Text());
  }
  return {};
}

Result<> TakeRecord(ByteReader& in, const DeltaIndex& index, TensorRecord& record) {
  WD_ASSIGN(record.name, TakeName(in, index.tensors.empty() ? nullptr : &index.tensors.back().name));
  WD_ASSIGN(const uint8_t kind, in.Fixed<uint8_t>());
  record.kind = static_cast<ChangeKind>(kind);
  const bool replaced = record.kind == ChangeKind::kReshaped || record.kind == ChangeKind::kRetyped;
  if (!replaced && record.kind != ChangeKind::kChanged && record.kind != ChangeKind::kAdded) {
    return Error{ErrorKind::kIntegrity, "unknown kind of change"};
  }
  if (index.anchor && record.kind != ChangeKind::kAdded)
    return Error{ErrorKind::kIntegrity, "anchor that needs a base"};
  WD_ASSIGN(record.ordinal, in.Varint());
  if (record.ordinal >= index.totals.tensors_total ||
      (!index.tensors.empty() && record.ordinal <= index.tensors.back().ordinal)) {
    return Error{ErrorKind::kIntegrity, "tensors out of order"};
  }
  WD_TRY(TakeForm(in, record.dtype, record.shape));
  if (replaced) WD_TRY(TakeForm(in, record.old_dtype, record.old_shape));
  WD_ASSIGN(record.units_changed, in.Varint());
  if (record.units_changed > *TensorBytes(record.dtype, record.shape)) {
    return Error{ErrorKind::kIntegrity, "more elements changed than there are"};
  }
  return {};
}

}  // namespace

Bytes EncodeLayout(const DeltaIndex& index) {
  ByteWriter out;
  out.Varint(index.layout.lone_file ? kLoneFileFlag : 0);
  size_t number = 0;
  for (const auto* files : {&index.layout.shards, &index.layout.companions}) {
    out.Varint(files->size());
    for (const LayoutFile& file : *files) {
      out.Text(file.path);
      out.Varint(file.bytes);
      if (files == &index.layout.shards) out.Varint(file.data_bytes);
      out.Raw(file.sha256);
      out.Fixed(static_cast<uint8_t>(index.carried[number++]));
    }
  }
  for (const auto* patterns : {&index.layout.include, &index.layout.exclude}) {
    out.Varint(patterns->size());
    for (const std::string& pattern : *patterns) out.Text(pattern);
  }
  return out.Take();
}

Result<> DecodeLayout(ByteSpan bytes, DeltaIndex& index) {
  ByteReader in(bytes);
  WD_ASSIGN(const uint64_t flags, in.Varint());
  if (flags > kLoneFileFlag) return Error{ErrorKind::kIntegrity, "unknown layout flag"};
  index.layout.lone_file = flags == kLoneFileFlag;
  for (auto* files : {&index.layout.shards, &index.layout.companions}) {
    WD_ASSIGN(const uint64_t count, in.Count(35));  // the least that a file takes
    for (uint64_t i = 0; i < count; ++i) {
      LayoutFile file;
      WD_ASSIGN(file.path, in.Text());
      WD_ASSIGN(file.bytes, in.Varint());
      if (files == &index.layout.shards) {
        WD_ASSIGN(file.data_bytes, in.Varint());
      }
      WD_ASSIGN(file.sha256, TakeSha256(in));
      WD_ASSIGN(const uint8_t carried, in.Fixed<uint8_t>());
      if (carried > 1) return Error{ErrorKind::kIntegrity, "a file is carried or not"};
      if (files == &index.layout.shards &&
          (file.bytes < 8 || file.bytes > kMaxHeaderBytes + 8 || file.data_bytes > uint64_t{1} << 62)) {
        return Error{ErrorKind::kIntegrity, "shard '" + file.path + "' has an impossible length"};
      }
      index.carried.push_back(carried != 0);
      files->push_back(std::move(file));
    }
  }
  WD_TRY(TakePatterns(in, index.layout.include));
  WD_TRY(TakePatterns(in, index.layout.exclude));
  WD_TRY(in.ExpectEnd());
  return CheckLayout(index.layout);
}

Bytes EncodeIndex(const DeltaIndex& index) {
  ByteWriter out;
  if (!index.anchor) {
    out.Raw(index.base.fingerprint);
    out.Raw(index.base.layout);
  }
  out.Raw(index.result.fingerprint);
  out.Raw(index.result.layout);
  for (const auto field : kTotals) out.Varint(index.totals.*field);
  out.Varint(index.tensors.size());
  for (const TensorRecord& record : index.tensors) {
    out.Text(record.name);
    out.Fixed(static_cast<uint8_t>(record.kind));
    out.Varint(record.ordinal);
    PutForm(out, record.dtype, record.shape);
    if (record.kind == ChangeKind::kReshaped || record.kind == ChangeKind::kRetyped) {
      PutForm(out, record.old_dtype, record.old_shape);
    }
    out.Varint(record.units_changed);
  }
  out.Varint(index.removed.size());
  for (const RemovedTensor& tensor : index.removed) {
    out.Text(tensor.name);
    PutForm(out, tensor.dtype, tensor.shape);
  }
  // Digests do not compress: they stand together, where they do not spoil the rest.
  for (const TensorRecord& record : index.tensors) out.Fixed(record.digest);
  out.Varint(index.base_tensors.size());
  for (const uint32_t digest : index.base_tensors) out.Fixed(digest);
  return out.Take();
}

Result<> DecodeIndex(ByteSpan bytes, DeltaIndex& index) {
  ByteReader in(bytes);
  if (!index.anchor) {
    WD_ASSIGN(const Sha256Digest fingerprint, TakeSha256(in));
    WD_ASSIGN(const Sha256Digest layout, TakeSha256(in));
    index.base = CombineState(fingerprint, layout);
  }
  WD_ASSIGN(const Sha256Digest fingerprint, TakeSha256(in));
  WD_ASSIGN(const Sha256Digest layout, TakeSha256(in));
  if (layout != index.layout.Digest())
    return Error{ErrorKind::kIntegrity, "layout is not the one that the index names"};
  index.result = CombineState(fingerprint, layout);
  for (const auto field : kTotals) {
    WD_ASSIGN(index.totals.*field, in.Varint());
  }
  WD_ASSIGN(const uint64_t records, in.Count(10));  // with its digest, the least that a record takes
  for (uint64_t i = 0; i < records; ++i) {
    TensorRecord record;
    WD_TRY(TakeRecord(in, index, record));
    index.tensors.push_back(std::move(record));
  }
  WD_ASSIGN(const uint64_t removed, in.Count(3));
  for (uint64_t i = 0; i < removed; ++i) {
    RemovedTensor tensor;
    WD_ASSIGN(tensor.name, TakeName(in, index.removed.empty() ? nullptr : &index.removed.back().name));
    WD_TRY(TakeForm(in, tensor.dtype, tensor.shape));
    index.removed.push_back(std::move(tensor));
  }
  for (TensorRecord& record : index.tensors) {
    WD_ASSIGN(record.digest, in.Fixed<uint32_t>());
  }
  WD_ASSIGN(const uint64_t base_tensors, in.Count(4));
  index.base_tensors.resize(base_tensors);
  for (uint32_t& digest : index.base_tensors) {
    WD_ASSIGN(digest, in.Fixed<uint32_t>());
  }
  return in.ExpectEnd();
}

}  // namespace wdelta
