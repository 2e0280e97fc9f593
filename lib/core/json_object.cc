#include "core/json_object.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/text.h"

namespace wdelta {

JsonValue::JsonValue(double number) {
  if (!std::isfinite(number)) return;
  char text[32];
  content.assign(text, std::to_chars(text, text + sizeof text, number).ptr);
}

JsonValue::JsonValue(const JsonObject& object) : content(object.Text()) {}

JsonValue JsonValue::FromJson(std::string json) {
  JsonValue value;
  value.content = std::move(json);
  return value;
}

std::string JsonValue::Json() const {
  return is_text ? JsonString(content) : content;
}

JsonObject::JsonObject(std::initializer_list<std::pair<std::string_view, JsonValue>> fields) {
  for (const auto& [key, value] : fields) Set(key, value);
}

void JsonObject::Set(std::string_view key, JsonValue value) {
  const auto same = std::find_if(fields_.begin(), fields_.end(), [&](const auto& field) { return field.first == key; });
  if (same != fields_.end()) {
    same->second = std::move(value);
  } else {
    fields_.emplace_back(key, std::move(value));
  }
}

void JsonObject::Append(const JsonObject& other) {
  for (const auto& [key, value] : other.fields_) Set(key, value);
}

JsonObject JsonObject::Blank() const {
  JsonObject blank = *this;
  for (auto& [key, value] : blank.fields_) {
    if (value.is_text || value.content != "[]") value = {};
  }
  return blank;
}

std::string JsonObject::Text() const {
  std::string text = "{";
  for (const auto& [key, value] : fields_) {
    if (text.size() > 1) text += ',';
    text += JsonString(key) + ':' + value.Json();
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
