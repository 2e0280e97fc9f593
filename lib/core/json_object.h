// One JSON object under construction, its fields in the order in which they were set. What the library keeps in files
// and what the program prints are built with it alike.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "words.h"

namespace wdelta {

class JsonObject;

// A value: a text, JSON as it stands (a number, a flag, a list, an object), or null when it is not known. Made without
// a word from what reports hold.
struct WDELTA_EXPORT JsonValue {
  std::string content = "null";
  bool is_text = false;  // `content` is the text itself, not JSON

  JsonValue() = default;
  JsonValue(std::string text) : content(std::move(text)), is_text(true) {}
  JsonValue(std::string_view text) : JsonValue(std::string(text)) {}
  JsonValue(const char* text) : JsonValue(std::string(text)) {}
  JsonValue(bool flag) : content(flag ? "true" : "false") {}
  JsonValue(double number);  // with all its digits; null if it is not finite
  JsonValue(const JsonObject& object);
  template <std::integral Number>
  JsonValue(Number number) : content(std::to_string(number)) {}
  template <class Value>
  JsonValue(const std::optional<Value>& value) : JsonValue(value ? JsonValue(*value) : JsonValue()) {}
  template <class Item>
  JsonValue(const std::vector<Item>& items);

  static JsonValue Known(std::string_view text) { return text.empty() ? JsonValue() : JsonValue(text); }
  static JsonValue FromJson(std::string json);
  bool is_null() const { return !is_text && content == "null"; }
  std::string Json() const;
};

class WDELTA_EXPORT JsonObject {
 public:
  JsonObject() = default;
  JsonObject(std::initializer_list<std::pair<std::string_view, JsonValue>> fields);

  // Sets a field; an earlier one of that name keeps its place and gets the new value.
  void Set(std::string_view key, JsonValue value);
  // All fields of `other`, after these.
  void Append(const JsonObject& other);
  // The same fields when nothing is known: null, or an empty list where there is one.
  JsonObject Blank() const;
  std::string Text() const;  // on one line, with the braces
  const std::vector<std::pair<std::string, JsonValue>>& fields() const { return fields_; }

 private:
  std::vector<std::pair<std::string, JsonValue>> fields_;
};

// An object of texts whose keys are all different; there may be very many.
WDELTA_EXPORT std::string JsonTexts(const std::vector<std::pair<std::string_view, std::string_view>>& fields);

// "[a,b]" from JSON texts.
WDELTA_EXPORT std::string JsonArray(const std::vector<std::string>& items);

// A list of what `value_of` makes of each item, one item after the other: there may be very many.
template <class Items, class ValueOf>
JsonValue JsonList(const Items& items, const ValueOf& value_of) {
  std::vector<std::string> texts;
  texts.reserve(items.size());
  for (const auto& item : items) texts.push_back(JsonValue(value_of(item)).Json());
  return JsonValue::FromJson(JsonArray(texts));
}

template <class Item>
JsonValue::JsonValue(const std::vector<Item>& items)
    : JsonValue(JsonList(items, [](const Item& item) { return JsonValue(item); })) {}

}  // namespace wdelta
