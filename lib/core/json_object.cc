#include "core/json_object.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/text.h"

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

std::string JsonTexts(const std::vector<std::pair<std::string_view, std::string_view>>& fields) {
  std::string text = "{";
  for (const auto& [key, value] : fields) {
    if (text.size() > 1) text += ',';
    AppendJsonString(key, &text);
    text += ':';
    AppendJsonString(value, &text);
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

}  // namespace wdelta
