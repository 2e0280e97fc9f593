#include "remote/sigv4.h"

#include <doctest/doctest.h>

#include "core/digest.h"

namespace wdelta {

namespace {

// The keys and the time of the examples that AWS publishes for S3.
const SigningKey kExampleKey{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
constexpr int64_t kExampleTime = 1369353600;  // 2013-05-24T00:00:00Z

SigningInput Example(const std::string& method, const std::string& path) {
  SigningInput input;
  input.method = method;
  input.host = "examplebucket.s3.amazonaws.com";
  input.path = path;
  input.payload_hash = Hex(DigestSha256({}));
  input.time = kExampleTime;
  input.region = "us-east-1";
  return input;
}

std::string Value(const TextPairs& headers, const std::string& name) {
  for (const auto& [header, value] : headers)
    if (header == name) return value;
  return "(none)";
}

std::string Authorization(const std::string& names, const std::string& signature) {
  return "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=" + names +
         ",Signature=" + signature;
}

}  // namespace

TEST_CASE("the published example of a GET with a range is signed as published") {
  SigningInput input = Example("GET", "/test.txt");
  input.headers = {{"Range", "bytes=0-9"}};
  const TextPairs added = Sign(input, kExampleKey);
  CHECK(Value(added, "Authorization") ==
        Authorization("host;range;x-amz-content-sha256;x-amz-date",
                      "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"));
  CHECK(Value(added, "x-amz-date") == "20130524T000000Z");
  CHECK(Value(added, "x-amz-content-sha256") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(Value(added, "x-amz-security-token") == "(none)");
}

TEST_CASE("the published example of a PUT with a date and a storage class is signed as published") {
  SigningInput input = Example("PUT", "/test%24file.text");
  input.headers = {{"x-amz-storage-class", "REDUCED_REDUNDANCY"}, {"Date", "Fri, 24 May 2013 00:00:00 GMT"}};
  input.payload_hash = Hex(DigestSha256(AsBytes("Welcome to Amazon S3.")));
  CHECK(Value(Sign(input, kExampleKey), "Authorization") ==
        Authorization("date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
                      "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
}

TEST_CASE("the published example of a query without a value is signed as published") {
  SigningInput input = Example("GET", "/");
  input.query = {{"lifecycle", ""}};
  CHECK(Value(Sign(input, kExampleKey), "Authorization") ==
        Authorization("host;x-amz-content-sha256;x-amz-date",
                      "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
}

TEST_CASE("the published example of a listing is signed as published, in whatever order its query is given") {
  SigningInput input = Example("GET", "/");
  input.query = {{"prefix", "J"}, {"max-keys", "2"}};
  const std::string expected = Authorization("host;x-amz-content-sha256;x-amz-date",
                                             "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
  CHECK(Value(Sign(input, kExampleKey), "Authorization") == expected);
  std::swap(input.query[0], input.query[1]);
  CHECK(Value(Sign(input, kExampleKey), "Authorization") == expected);
}

TEST_CASE("a session token is a header, and part of what is signed") {
  SigningKey key = kExampleKey;
  key.session_token = "token";
  const TextPairs added = Sign(Example("GET", "/"), key);
  CHECK(Value(added, "x-amz-security-token") == "token");
  CHECK(Value(added, "Authorization").find(";x-amz-security-token,") != std::string::npos);
}

TEST_CASE("white space in a header's value does not change its signature where it does not change its meaning") {
  SigningInput plain = Example("GET", "/"), spaced = plain;
  plain.headers = {{"x-amz-meta-a", "b c"}};
  spaced.headers = {{"X-Amz-Meta-A", " b   c "}};
  CHECK(Value(Sign(plain, kExampleKey), "Authorization") == Value(Sign(spaced, kExampleKey), "Authorization"));
}

TEST_CASE("a query is encoded in upper case, slashes too, and sorted by its encoded names") {
  CHECK(CanonicalQuery({}).empty());
  CHECK(CanonicalQuery({{"uploads", ""}}) == "uploads=");
  CHECK(CanonicalQuery({{"prefix", "a/b c+d=e~"}, {"list-type", "2"}}) == "list-type=2&prefix=a%2Fb%20c%2Bd%3De~");
  CHECK(CanonicalQuery({{"b", "\xc3\xa4"}, {"a", "2"}, {"a", "1"}}) == "a=1&a=2&b=%C3%A4");
}

}  // namespace wdelta
