#include "json_fields.h"

namespace wdelta {

void SetTotals(JsonObject& object, const Totals* totals) {
  const Totals known = totals ? *totals : Totals{};
  const JsonObject fields = {{"elements_total", known.elements_total},
                             {"elements_changed", known.elements_changed},
                             {"sparsity", known.sparsity()},
                             {"bytes_total", known.bytes_total},
                             {"bytes_changed", known.bytes_changed},
                             {"tensors_total", known.tensors_total},
                             {"tensors_changed", known.tensors_changed},
                             {"tensors_added", known.tensors_added},
                             {"tensors_removed", known.tensors_removed},
                             {"files_changed", known.files_changed}};
  object.Append(totals ? fields : fields.Blank());
}

JsonObject NullFields(std::initializer_list<const char*> keys) {
  JsonObject fields;
  for (const char* key : keys) fields.Set(key, {});
  return fields;
}

void SetIdentities(JsonObject& object, const Identity& base, const Identity& result) {
  object.Append({{"base_state", JsonValue::Known(base.state)},
                 {"state", JsonValue::Known(result.state)},
                 {"base_fingerprint", JsonValue::Known(base.fingerprint)},
                 {"fingerprint", JsonValue::Known(result.fingerprint)}});
}

void SetDeltaSize(JsonObject& object, const Totals* totals, const std::optional<uint64_t>& delta_bytes) {
  object.Set("delta_bytes", delta_bytes);
  object.Set("ratio", {});
  if (!totals || delta_bytes.value_or(0) == 0) return;
  object.Set("ratio", static_cast<double>(totals->bytes_total) / static_cast<double>(*delta_bytes));
}

JsonObject JsonRecord(const RecordInfo& record) {
  JsonObject object = {{"number", record.number},
                       {"step", record.step},
                       {"created", record.created},
                       {"state", JsonValue::Known(record.state)},
                       {"fingerprint", JsonValue::Known(record.fingerprint)}};
  SetTotals(object, record.totals.elements_total ? &record.totals : nullptr);
  SetDeltaSize(object, &record.totals, record.delta_bytes);
  object.Set("anchor_bytes", record.anchor_bytes);
  object.Set("tags", record.tags);
  return object;
}

JsonObject JsonTensor(const TensorChange& tensor) {
  const auto shape = [](const std::string& dtype, const std::vector<uint64_t>& sizes) {
    return dtype.empty() ? JsonValue() : JsonValue(sizes);
  };
  return {{"name", tensor.name},
          {"change", ChangeName(tensor.kind)},
          {"dtype", JsonValue::Known(tensor.dtype)},
          {"shape", shape(tensor.dtype, tensor.shape)},
          {"old_dtype", JsonValue::Known(tensor.old_dtype)},
          {"old_shape", shape(tensor.old_dtype, tensor.old_shape)},
          {"shard", JsonValue::Known(tensor.shard)},
          {"elements_total", tensor.elements},
          {"elements_changed", tensor.elements_changed},
          {"bytes_total", tensor.bytes}};
}

JsonObject JsonFile(const FileChange& file) {
  return {{"path", file.path}, {"change", ChangeName(file.kind)}, {"is_header", file.is_header}};
}

const FailureWords& WordsFor(ErrorKind kind) {
  static constexpr FailureWords kWords[] = {
      {"usage", 2, false},    {"not_found", 3, false}, {"integrity", 4, false}, {"conflict", 5, false},
      {"busy", 6, true},      {"transient", 7, true},  {"denied", 8, false},    {"local_io", 9, false},
      {"refused", 10, false}, {"hook", 11, false},     {"signal", 130, true},
  };
  static_assert(std::size(kWords) == static_cast<size_t>(ErrorKind::kInterrupted) + 1);
  return kWords[static_cast<size_t>(kind)];
}

JsonObject JsonError(const Error& error) {
  const FailureWords& words = WordsFor(error.kind);
  return {{"kind", words.name},
          {"message", error.message},
          {"hint", JsonValue::Known(error.hint)},
          {"retryable", words.is_retryable},
          {"path", JsonValue::Known(error.path)},
          {"tensor", JsonValue::Known(error.tensor)},
          {"expected", JsonValue::Known(error.expected)},
          {"found", JsonValue::Known(error.found)}};
}

}  // namespace wdelta
