// A remote in a bucket of an S3 store, or of Hugging Face through its S3 gateway.
#pragma once

#include <memory>
#include <string>

#include "remote/remote.h"

namespace wdelta {

// s3://BUCKET/PREFIX and hf://buckets/OWNER/NAME/PREFIX. What the options leave open comes from the environment and the
// profile of AWS's own tools. WDELTA_SSE and WDELTA_SSE_KMS_KEY_ID ask the store to encrypt what is written;
// WDELTA_S3_ADDRESSING (path, virtual) says where the bucket's name goes.
Result<std::unique_ptr<Remote>> OpenS3Remote(const std::string& url, const TransferOptions& options,
                                             const Context& context);

}  // namespace wdelta
