// The fields of JSON reports. What a figure is called is decided here and in one place, so that all commands use the
// same words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wdelta.h"

namespace wdelta {

// The words that reports share. A null pointer sets every field to null: the command failed before it knew.
void SetTotals(JsonObject& object, const Totals* totals);
void SetIdentities(JsonObject& object, const Identity* base, const Identity* result);
// delta_bytes, and ratio = bytes_total / delta_bytes.
void SetDeltaSize(JsonObject& object, const Totals* totals, const std::optional<uint64_t>& delta_bytes);
std::string JsonShape(const std::vector<uint64_t>& shape);  // [4,1024]
std::string JsonTensor(const TensorChange& tensor);
std::string JsonFile(const FileChange& file);
// The "error" of the envelope. `kind` is the word for it, see ErrorKindName in ui.h.
std::string JsonError(const Error& error, std::string_view kind, bool retryable);

}  // namespace wdelta
