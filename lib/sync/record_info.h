// Records as reports show them.
#pragma once

#include "history/record.h"
#include "reports.h"

namespace wdelta {

RecordInfo InfoOf(const RecordEntry& entry);
RecordInfo InfoOf(const Record& record);  // with all its totals

}  // namespace wdelta
