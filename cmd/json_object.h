// One JSON object under construction, its fields in the order in which they were set. Commands fill one with their
// figures; what a figure is called is decided here and in one place, so that all commands use the same words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wdelta.h"

namespace wdelta {

class JsonObject {
 public:
  // Each sets a field; an earlier one of that name keeps its place and gets the new value.
  void SetText(std::string_view key, std::string_view value);
  void SetNumber(std::string_view key, uint64_t value);
  void SetReal(std::string_view key, double value);
  void SetFlag(std::string_view key, bool value);
  void SetNull(std::string_view key);
  void SetJson(std::string_view key, std::string json);  // `json`: any JSON text

  // Null when it is not known: an empty text, an absent figure.
  void SetKnownText(std::string_view key, std::string_view value);
  void SetKnownNumber(std::string_view key, const std::optional<uint64_t>& value);

  // All fields of `other`, after these.
  void Append(const JsonObject& other);
  std::string Text() const;  // on one line, with the braces

 private:
  std::vector<std::pair<std::string, std::string>> fields_;  // key, and value as JSON
};

// "[a,b]" from JSON texts.
std::string JsonArray(const std::vector<std::string>& items);

// The words that reports share. A null pointer sets every field to null: the command failed before it knew.
void SetTotals(JsonObject& object, const Totals* totals);
void SetIdentities(JsonObject& object, const Identity* base, const Identity* result);
// delta_bytes, and ratio = bytes_total / delta_bytes.
void SetDeltaSize(JsonObject& object, const Totals* totals, const std::optional<uint64_t>& delta_bytes);
std::string JsonTensor(const TensorChange& tensor);
std::string JsonFile(const FileChange& file);
// The "error" of the envelope. `kind` is the word for it, see ErrorKindName in ui.h.
std::string JsonError(const Error& error, std::string_view kind, bool retryable);

}  // namespace wdelta
