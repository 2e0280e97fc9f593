#include "remote/s3_address.h"

#include <doctest/doctest.h>

#include "support/expect.h"

namespace wdelta {

namespace {

// "https://host/path" of the object "k", and the region.
std::string Where(const std::string& url, const S3Place& place = {}) {
  const auto address = ParseS3Address(url, place);
  if (!address.ok()) return address.error().message;
  return address->endpoint.scheme + "://" + address->Host() + address->ObjectPath("k") + " " + address->region;
}

}  // namespace

TEST_CASE("without an endpoint a bucket is on AWS, in the host name where its name allows that") {
  CHECK(Where("s3://bucket/run7") == "https://bucket.s3.us-east-1.amazonaws.com/run7/k us-east-1");
  CHECK(Where("s3://bucket") == "https://bucket.s3.us-east-1.amazonaws.com/k us-east-1");
  CHECK(Where("s3://bucket/") == "https://bucket.s3.us-east-1.amazonaws.com/k us-east-1");
  CHECK(Where("s3://bucket/a/b//") == "https://bucket.s3.us-east-1.amazonaws.com/a/b/k us-east-1");
  CHECK(Where("s3://bucket/r", {"", "eu-west-1"}) == "https://bucket.s3.eu-west-1.amazonaws.com/r/k eu-west-1");
  CHECK(Where("s3://bucket/r", {"", "cn-north-1"}) == "https://bucket.s3.cn-north-1.amazonaws.com.cn/r/k cn-north-1");
  CHECK(Where("s3://my.bucket/r") == "https://s3.us-east-1.amazonaws.com/my.bucket/r/k us-east-1");
  CHECK(Where("s3://My_bucket/r") == "https://s3.us-east-1.amazonaws.com/My_bucket/r/k us-east-1");
  CHECK(Where("s3://bucket/r", {"", "", BucketPlace::kPath}) ==
        "https://s3.us-east-1.amazonaws.com/bucket/r/k us-east-1");
}

TEST_CASE("at an endpoint of one's own the bucket is in the path, unless it is AWS's or one asks for it") {
  CHECK(Where("s3://bucket/r", {"http://127.0.0.1:7480", ""}) == "http://127.0.0.1:7480/bucket/r/k us-east-1");
  CHECK(Where("s3://bucket/r", {"https://store.example/", "x-1"}) == "https://store.example/bucket/r/k x-1");
  CHECK(Where("s3://bucket/r", {"https://Store.example:443/base/path/", ""}) ==
        "https://store.example/base/path/bucket/r/k us-east-1");
  CHECK(Where("s3://bucket/r", {"https://s3.eu-west-1.amazonaws.com", ""}) ==
        "https://bucket.s3.eu-west-1.amazonaws.com/r/k eu-west-1");
  CHECK(Where("s3://bucket/r", {"https://id.r2.cloudflarestorage.com", ""}) ==
        "https://id.r2.cloudflarestorage.com/bucket/r/k auto");
  CHECK(Where("s3://bucket/r", {"http://s3.localhost:80", "", BucketPlace::kHost}) ==
        "http://bucket.s3.localhost/r/k us-east-1");
  CHECK(Where("s3://bucket/r", {"http://[::1]:80", "", BucketPlace::kHost}) == "http://[::1]/bucket/r/k us-east-1");
}

TEST_CASE("a bucket of Hugging Face is reached through its gateway, the owner as part of the endpoint") {
  CHECK(Where("hf://buckets/ORG/name/run7") == "https://s3.hf.co/ORG/name/run7/k us-east-1");
  CHECK(Where("hf://buckets/ORG/name", {"", "eu-west-1"}) == "https://s3.hf.co/ORG/name/k us-east-1");
  CHECK(Where("hf://buckets/ORG/name/r", {"http://127.0.0.1:1", ""}) == "http://127.0.0.1:1/ORG/name/r/k us-east-1");
  CHECK_FAILS(ParseS3Address("hf://models/ORG/name", {}), ErrorKind::kUsage, "only hf://buckets/OWNER/NAME");
  CHECK_FAILS(ParseS3Address("hf://buckets/ORG", {}), ErrorKind::kUsage, "bucket");
  CHECK_FAILS(ParseS3Address("hf://buckets//name", {}), ErrorKind::kUsage, "owner");
  CHECK_FAILS(ParseS3Address("hf://buckets/../name", {}), ErrorKind::kUsage, "owner");
}

TEST_CASE("what is special in a URL is encoded in a prefix") {
  CHECK(Where("s3://bucket/Run 7/\xc3\xa4?#%+=@") ==
        "https://bucket.s3.us-east-1.amazonaws.com/Run%207/%C3%A4%3F%23%25%2B%3D%40/k us-east-1");
}

TEST_CASE("another region takes the endpoint along only where it follows from the region") {
  const auto by_region = ParseS3Address("s3://bucket/r", {});
  REQUIRE_OK(by_region);
  CHECK(by_region->In("ap-south-1").Host() == "bucket.s3.ap-south-1.amazonaws.com");
  const auto own = ParseS3Address("s3://bucket/r", {"http://127.0.0.1:7480", ""});
  REQUIRE_OK(own);
  CHECK(own->In("ap-south-1").Host() == "127.0.0.1:7480");
  CHECK(own->In("ap-south-1").region == "ap-south-1");
  CHECK(IsRegionName("eu-west-1"));
  CHECK_FALSE(IsRegionName("evil.example/"));
  CHECK_FALSE(IsRegionName(""));
}

TEST_CASE("a URL that names no place is refused") {
  for (const char* url :
       {"s3://", "s3://ab/run", "s3:///run", "s3://-bucket/r", "s3://user@bucket/r", "s3://buck%65t/r"})
    CHECK_FAILS(ParseS3Address(url, {}), ErrorKind::kUsage, "bucket");
  for (const char* url : {"s3://bucket/a//b", "s3://bucket/../b", "s3://bucket/./b"})
    CHECK_FAILS(ParseS3Address(url, {}), ErrorKind::kUsage, "a part of its prefix");
  CHECK_FAILS(ParseS3Address("s3://bucket/a\nb", {}), ErrorKind::kUsage, "control character");
  CHECK_FAILS(ParseS3Address("s3://bucket/a\\b", {}), ErrorKind::kUsage, "backslash");
  CHECK_FAILS(ParseS3Address("s3://bucket/\xff", {}), ErrorKind::kUsage, "UTF-8");
  CHECK_FAILS(ParseS3Address("s3://bucket/" + std::string(513, 'a'), {}), ErrorKind::kUsage, "512");
  CHECK_FAILS(ParseS3Address("gs://bucket/r", {}), ErrorKind::kUsage, "neither");
  for (const char* endpoint :
       {"ftp://x", "x", "https://", "https://u:p@x", "https://x:0", "https://x:65536", "https://a b"})
    CHECK_FAILS(ParseS3Address("s3://bucket", {endpoint, ""}), ErrorKind::kUsage, "endpoint");
  CHECK_FAILS(ParseS3Address("s3://bucket", {"", "no/region"}), ErrorKind::kUsage, "region");
}

TEST_CASE("a secret in an endpoint is not repeated in the error") {
  const auto address = ParseS3Address("s3://bucket", {"https://user:hunter2@x", ""});
  CHECK_FAILS(address, ErrorKind::kUsage, "user or a password");
  CHECK(address.error().message.find("hunter2") == std::string::npos);
}

}  // namespace wdelta
