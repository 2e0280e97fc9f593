#include "json_fields.h"

namespace wdelta {

void SetTotals(JsonObject& object, const Totals* totals) {
  const auto figure = [&](std::string_view key, uint64_t Totals::*member) {
    object.SetKnownNumber(key, totals ? std::optional<uint64_t>(totals->*member) : std::nullopt);
  };
  figure("elements_total", &Totals::elements_total);
  figure("elements_changed", &Totals::elements_changed);
  if (totals) {
    object.SetReal("sparsity", totals->sparsity());
  } else {
    object.SetNull("sparsity");
  }
  figure("bytes_total", &Totals::bytes_total);
  figure("bytes_changed", &Totals::bytes_changed);
  figure("tensors_total", &Totals::tensors_total);
  figure("tensors_changed", &Totals::tensors_changed);
  figure("tensors_added", &Totals::tensors_added);
  figure("tensors_removed", &Totals::tensors_removed);
  figure("files_changed", &Totals::files_changed);
}

void SetIdentities(JsonObject& object, const Identity* base, const Identity* result) {
  object.SetKnownText("base_state", base ? base->state : "");
  object.SetKnownText("state", result ? result->state : "");
  object.SetKnownText("base_fingerprint", base ? base->fingerprint : "");
  object.SetKnownText("fingerprint", result ? result->fingerprint : "");
}

void SetDeltaSize(JsonObject& object, const Totals* totals, const std::optional<uint64_t>& delta_bytes) {
  object.SetKnownNumber("delta_bytes", delta_bytes);
  if (totals && delta_bytes.value_or(0) > 0) {
    object.SetReal("ratio", static_cast<double>(totals->bytes_total) / static_cast<double>(*delta_bytes));
  } else {
    object.SetNull("ratio");
  }
}

std::string JsonShape(const std::vector<uint64_t>& shape) {
  std::vector<std::string> sizes;
  sizes.reserve(shape.size());
  for (const uint64_t size : shape) sizes.push_back(std::to_string(size));
  return JsonArray(sizes);
}

std::string JsonTensor(const TensorChange& tensor) {
  JsonObject object;
  object.SetText("name", tensor.name);
  object.SetText("change", ChangeName(tensor.kind));
  object.SetKnownText("dtype", tensor.dtype);
  object.SetJson("shape", tensor.dtype.empty() ? "null" : JsonShape(tensor.shape));
  object.SetKnownText("old_dtype", tensor.old_dtype);
  object.SetJson("old_shape", tensor.old_dtype.empty() ? "null" : JsonShape(tensor.old_shape));
  object.SetKnownText("shard", tensor.shard);
  object.SetNumber("elements_total", tensor.elements);
  object.SetNumber("elements_changed", tensor.elements_changed);
  object.SetNumber("bytes_total", tensor.bytes);
  return object.Text();
}

std::string JsonFile(const FileChange& file) {
  JsonObject object;
  object.SetText("path", file.path);
  object.SetText("change", ChangeName(file.kind));
  object.SetFlag("is_header", file.is_header);
  return object.Text();
}

std::string JsonError(const Error& error, std::string_view kind, bool retryable) {
  JsonObject object;
  object.SetText("kind", kind);
  object.SetText("message", error.message);
  object.SetKnownText("hint", error.hint);
  object.SetFlag("retryable", retryable);
  object.SetKnownText("path", error.path);
  object.SetKnownText("tensor", error.tensor);
  object.SetKnownText("expected", error.expected);
  object.SetKnownText("found", error.found);
  return object.Text();
}

}  // namespace wdelta
