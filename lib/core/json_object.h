// One JSON object under construction, its fields in the order in which they were set. What the library keeps in files
// and what the program prints are built with it alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "words.h"

namespace wdelta {

class WDELTA_EXPORT JsonObject {
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

// An object of texts whose keys are all different; there may be very many.
WDELTA_EXPORT std::string JsonTexts(const std::vector<std::pair<std::string_view, std::string_view>>& fields);

// "[a,b]" from JSON texts.
WDELTA_EXPORT std::string JsonArray(const std::vector<std::string>& items);

}  // namespace wdelta
