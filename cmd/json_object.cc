#include "json_object.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace wdelta {

void JsonObject::SetJson(std::string_view key, std::string json) {
  const auto same = std::find_if(fields_.begin(), fields_.end(), [&](const auto& field) { return field.first == key; });
  if (same != fields_.end()) {
    same->second = std::move(json);
  } else {
    fields_.emplace_back(key, std::move(json));
  }
}

void JsonObject::SetText(std::string_view key, std::string_view value) {
  SetJson(key, JsonString(value));
}
void JsonObject::SetNumber(std::string_view key, uint64_t value) {
  SetJson(key, std::to_string(value));
}
void JsonObject::SetFlag(std::string_view key, bool value) {
  SetJson(key, value ? "true" : "false");
}
void JsonObject::SetNull(std::string_view key) {
  SetJson(key, "null");
}

void JsonObject::SetReal(std::string_view key, double value) {
  if (!std::isfinite(value)) return SetNull(key);
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  SetJson(key, std::string(text, end));
}

void JsonObject::SetKnownText(std::string_view key, std::string_view value) {
  if (value.empty()) return SetNull(key);
  SetText(key, value);
}

void JsonObject::SetKnownNumber(std::string_view key, const std::optional<uint64_t>& value) {
  if (!value) return SetNull(key);
  SetNumber(key, *value);
}

void JsonObject::Append(const JsonObject& other) {
  for (const auto& [key, json] : other.fields_) SetJson(key, json);
}

std::string JsonObject::Text() const {
  std::string text = "{";
  for (const auto& [key, json] : fields_) {
    if (text.size() > 1) text += ',';
    text += JsonString(key) + ':' + json;
  }
  return text + '}';
}

std::string JsonArray(const std::vector<std::string>& items) {
  std::string text = "[";
  for (const std::string& item : items) {
    if (text.size() > 1) text += ',';
    text += item;
  }
  return text + ']';
}

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

namespace {

std::string JsonShape(const std::vector<uint64_t>& shape) {
  std::vector<std::string> sizes;
  sizes.reserve(shape.size());
  for (const uint64_t size : shape) sizes.push_back(std::to_string(size));
  return JsonArray(sizes);
}

}  // namespace

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
