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
void SetIdentities(JsonObject& object, const Identity& base, const Identity& result);
// These fields, all null: not known, or not asked for.
JsonObject NullFields(std::initializer_list<const char*> keys);
// delta_bytes, and ratio = bytes_total / delta_bytes.
void SetDeltaSize(JsonObject& object, const Totals* totals, const std::optional<uint64_t>& delta_bytes);
// number, step, state, fingerprint, created, totals, delta_bytes, anchor_bytes.
JsonObject JsonRecord(const RecordInfo& record);
JsonObject JsonTensor(const TensorChange& tensor);
JsonObject JsonFile(const FileChange& file);

// How a kind of failure is told.
struct FailureWords {
  std::string_view name;  // in JSON: "not_found"
  int exit_code;          // the numbers are stable; new ones may be added
  bool is_retryable;      // the same command may work later
};
const FailureWords& WordsFor(ErrorKind kind);
// The "error" of the envelope.
JsonObject JsonError(const Error& error);

}  // namespace wdelta
