// What is unusual in a report, in sentences: the things that somebody who looks at it every day would point at.
#pragma once

#include "stats_report.h"

namespace wdelta {

// Each a sentence without a full stop. Names of tensors are in single quotes, as they are in the file: whoever shows a
// sentence makes it harmless.
std::vector<std::string> FindUnusual(const StatsReport& report);

}  // namespace wdelta
