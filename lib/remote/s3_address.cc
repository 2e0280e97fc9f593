#include "remote/s3_address.h"

#include <algorithm>

#include "core/text.h"

namespace wdelta {

namespace {

constexpr std::string_view kHuggingFaceEndpoint = "https://s3.hf.co";

Error BadAddress(std::string_view url, std::string_view why) {
  return Error{ErrorKind::kUsage, "'" + Shorten(TerminalText(url)) + "' is not a remote: " + std::string(why)};
}

bool IsLowerOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// Some stores allow more than AWS does; a name that only they allow goes into the path.
bool IsBucketName(std::string_view name) {
  return name.size() >= 3 && name.size() <= 255 && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return IsLowerOrDigit(c) || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' || c == '_';
         });
}

// A dot would need a certificate for one level more than servers have.
bool FitsHostName(std::string_view bucket) {
  return bucket.size() <= 63 && IsLowerOrDigit(bucket.front()) && IsLowerOrDigit(bucket.back()) &&
         std::all_of(bucket.begin(), bucket.end(), [](char c) { return IsLowerOrDigit(c) || c == '-'; });
}

// The next part of a path, up to a slash; `rest` is left behind that slash.
std::string_view TakePart(std::string_view* rest) {
  const size_t slash = rest->find('/');
  const std::string_view part = rest->substr(0, slash);
  *rest = slash == std::string_view::npos ? std::string_view() : rest->substr(slash + 1);
  return part;
}

Result<> CheckPrefix(std::string_view url, std::string_view prefix) {
  if (prefix.size() > 512) return BadAddress(url, "its prefix is longer than 512 bytes");
  if (ValidUtf8Prefix(AsBytes(prefix)) != prefix.size()) return BadAddress(url, "its prefix is not UTF-8");
  for (const char c : prefix) {
    if ((c >= 0 && c < ' ') || c == 0x7f || c == '\\')
      return BadAddress(url, "its prefix has a backslash or a control character");
  }
  for (std::string_view rest = prefix; !rest.empty();) {
    const std::string_view part = TakePart(&rest);
    if (part.empty() || part == "." || part == "..")
      return BadAddress(url, "a part of its prefix is empty, '.' or '..'");
  }
  return {};
}

bool IsAddress(const std::string& host) {
  return host.front() == '[' || (host.back() >= '0' && host.back() <= '9');
}

// The region that is part of the name of an AWS endpoint, "s3.eu-west-1.amazonaws.com"; or what a store calls its own.
std::string RegionOf(const std::string& host) {
  constexpr std::string_view kBegin = "s3.", kEnd = ".amazonaws.com";
  if (host.starts_with(kBegin) && host.ends_with(kEnd) && host.size() > kBegin.size() + kEnd.size()) {
    std::string region = host.substr(kBegin.size(), host.size() - kBegin.size() - kEnd.size());
    if (IsRegionName(region)) return region;
  }
  return host.ends_with(".r2.cloudflarestorage.com") ? "auto" : "us-east-1";
}

}  // namespace

bool IsRegionName(std::string_view region) {
  return !region.empty() && region.size() <= 40 && IsLowerOrDigit(region.front()) && IsLowerOrDigit(region.back()) &&
         std::all_of(region.begin(), region.end(), [](char c) { return IsLowerOrDigit(c) || c == '-'; });
}

Result<S3Address> ParseS3Address(std::string_view url, const S3Place& place) {
  S3Address address;
  std::string endpoint = place.endpoint;
  std::string_view rest = url;
  if (!rest.starts_with("s3://") && !rest.starts_with("hf://"))
    return BadAddress(url, "it begins with neither s3:// nor hf://");
  rest.remove_prefix(5);
  while (rest.ends_with('/')) rest.remove_suffix(1);
  address.url = std::string(url.substr(0, 5)) + std::string(rest);
  std::string base;
  if (url.starts_with("hf://")) {
    if (TakePart(&rest) != "buckets") return BadAddress(url, "only hf://buckets/OWNER/NAME is one");
    const std::string_view owner = TakePart(&rest);
    if (owner.empty() ||
        !std::all_of(
            owner.begin(), owner.end(),
            [](char c) { return IsLowerOrDigit(c) || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.'; }) ||
        owner.front() == '.')
      return BadAddress(url, "it names no owner of a bucket");
    base = "/" + std::string(owner);
    address.hugging_face = true;
    if (endpoint.empty()) endpoint = kHuggingFaceEndpoint;
  }
  address.bucket = TakePart(&rest);
  if (!IsBucketName(address.bucket)) return BadAddress(url, "it names no bucket of 3 letters or more");
  WD_TRY(CheckPrefix(url, rest));
  if (!rest.empty()) address.prefix = std::string(rest) + "/";

  if (!place.region.empty() && !IsRegionName(place.region))
    return Error{ErrorKind::kUsage, "'" + Shorten(TerminalText(place.region)) + "' is not the name of a region"};
  if (endpoint.empty()) {
    address.by_region = true;
    address.in_host = place.bucket != BucketPlace::kPath && FitsHostName(address.bucket);
    return address.In(place.region.empty() ? "us-east-1" : place.region);
  }
  Result<HttpUrl> parsed = ParseHttpUrl(endpoint);
  if (!parsed.ok())
    return Error{ErrorKind::kUsage, "endpoint '" + UrlForPeople(endpoint) + "' is " + parsed.error().message};
  address.endpoint = std::move(*parsed);
  if (!address.endpoint.query.empty()) return Error{ErrorKind::kUsage, "an endpoint has no query"};
  while (address.endpoint.path.ends_with('/')) address.endpoint.path.pop_back();
  address.endpoint.path += base;
  const std::string& host = address.endpoint.host;
  address.region = place.region.empty() || address.hugging_face ? RegionOf(host) : place.region;
  const bool is_aws = host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn");
  address.in_host = !address.hugging_face && FitsHostName(address.bucket) && !IsAddress(host) &&
                    (place.bucket == BucketPlace::kHost || (place.bucket == BucketPlace::kBySuitability && is_aws));
  return address;
}

S3Address S3Address::In(const std::string& other_region) const {
  S3Address moved = *this;
  moved.region = other_region;
  if (!by_region) return moved;
  moved.endpoint = HttpUrl{};
  moved.endpoint.scheme = "https";
  moved.endpoint.host =
      "s3." + other_region + (other_region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com");
  return moved;
}

std::string S3Address::Host() const {
  return in_host ? bucket + "." + endpoint.Host() : endpoint.Host();
}

std::string S3Address::BucketPath() const {
  if (in_host) return endpoint.path.empty() ? "/" : endpoint.path;
  return endpoint.path + "/" + PercentEncode(bucket, false);
}

std::string S3Address::ObjectPath(const std::string& key) const {
  const std::string base = in_host ? endpoint.path : BucketPath();
  return base + "/" + PercentEncode(prefix + key, true);
}

}  // namespace wdelta
