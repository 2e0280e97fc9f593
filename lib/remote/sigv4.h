// Signature version 4 of AWS, as S3 takes it: the path is encoded once and used as it is sent, the hash of the body is
// a header of its own. A pure function; what it is given decides what it gives.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wdelta {

struct SigningKey {
  std::string access_key, secret_key;
  std::string session_token;  // empty for keys that last
};

using TextPairs = std::vector<std::pair<std::string, std::string>>;

struct SigningInput {
  std::string method{};
  std::string host{};          // as the Host header has it
  std::string path{};          // encoded, as it is sent
  TextPairs query{};           // not encoded
  TextPairs headers{};         // what else is signed, in any order
  std::string payload_hash{};  // SHA-256 of the body in hex
  int64_t time = 0;            // seconds since 1970
  std::string region{}, service = "s3";
};

// The headers to add to the request: x-amz-date, x-amz-content-sha256, x-amz-security-token where there is one, and
// Authorization.
TextPairs Sign(const SigningInput& input, const SigningKey& key);

// Names and values encoded, sorted by name: the query of the URL and of its signature.
std::string CanonicalQuery(const TextPairs& query);

}  // namespace wdelta
