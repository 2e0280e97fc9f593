// What a pull refuses to follow unless it is told to, whatever kind of store offers it.
#pragma once

#include <string>

#include "reports.h"

namespace wdelta {

Error WentBackwards(const std::string& url, uint64_t seen, uint64_t found);
Error Rewritten(const std::string& url, uint64_t number);
Error OtherHistory(const std::string& folder, const std::string& url);
// kRefused if the newest record, made at `created` (seconds since 1970), is older than `max_age` seconds; 0: any will
// do.
Result<> CheckAge(const std::string& url, uint64_t created, double max_age);

}  // namespace wdelta
