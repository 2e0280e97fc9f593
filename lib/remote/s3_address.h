// Where the objects of an S3 remote are: from the URL that a user writes to the host and path of a request.
//
//   s3://BUCKET/PREFIX               the endpoint comes from the options, else it is AWS's for the region
//   hf://buckets/OWNER/NAME/PREFIX   the S3 gateway of Hugging Face: OWNER is part of the endpoint's path
//
// The bucket is part of the host name (virtual-host style) on AWS, where its name allows that; else of the path.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "remote/http_text.h"

namespace wdelta {

enum class BucketPlace { kBySuitability, kPath, kHost };

struct S3Address {
  std::string url;  // what the user wrote, without a slash at its end
  HttpUrl endpoint;
  std::string bucket;
  std::string prefix;  // of every key: empty, or with a slash at its end
  std::string region;
  bool in_host = false;    // the bucket is part of the host name
  bool by_region = false;  // the endpoint follows from the region
  bool hugging_face = false;

  // With another region; the endpoint moves along if it follows from it.
  S3Address In(const std::string& other_region) const;
  std::string Host() const;
  std::string BucketPath() const;                        // encoded; what requests about the bucket itself go to
  std::string ObjectPath(const std::string& key) const;  // encoded; `key` without the prefix
};

struct S3Place {
  std::string endpoint, region;  // empty: not given
  BucketPlace bucket = BucketPlace::kBySuitability;
};

// kUsage for a URL, an endpoint or a region that cannot be.
Result<S3Address> ParseS3Address(std::string_view url, const S3Place& place);

// Whether `region` looks like the name of a region; one that a server names becomes part of a host name.
bool IsRegionName(std::string_view region);

}  // namespace wdelta
