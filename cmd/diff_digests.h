// diff with records, told by the digests of their tensors: nothing is fetched but indexes.
#pragma once

#include <optional>

#include "command.h"
#include "options.h"
#include "ui.h"

namespace wdelta {

// One operand is a record, or both are. `fields` is the JSON object with nothing known yet.
Result<int> DiffByDigests(const Arguments& arguments, JsonObject fields, uint64_t default_top, Ui& ui);

// Which records were compared: "number" is that of NEW, or of the only one; "base_number" that of BASE.
void SetRecordNumbers(JsonObject& fields, const std::optional<RecordInfo>& base, const std::optional<RecordInfo>& next);

}  // namespace wdelta
