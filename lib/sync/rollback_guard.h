// What a pull refuses to follow, from whatever kind of store, unless the user allows it.
#pragma once

#include <string>

#include "core/result.h"

namespace wdelta {

Error WentBackwards(const std::string& url, uint64_t seen, uint64_t found);
Error Rewritten(const std::string& url, uint64_t number);
Error OtherHistory(const std::string& folder, const std::string& url);
// kRefused if the newest record, made at `created` (seconds since 1970), is older than `max_age` seconds, or from the
// future. 0: any age will do.
Result<> CheckAge(const std::string& url, uint64_t created, double max_age);

}  // namespace wdelta
