// Large objects, written to S3 in parts that travel at the same time.
#pragma once

#include "remote/s3_session.h"

namespace wdelta {

inline constexpr uint64_t kMultipartFrom = 64 << 20;  // bytes; smaller ones are sent whole

// `headers` go with the request that begins the upload. Nothing is visible before the last request, which makes all of
// it visible at once; on failure the parts are thrown away. With `only_if_absent` the last request says so, but not
// every store listens: false if one that does had the object already.
Result<bool> WriteInParts(S3Session& session, const std::string& key, const ByteSource& source,
                          const TextPairs& headers, bool only_if_absent);

}  // namespace wdelta
