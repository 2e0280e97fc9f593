#include "remote/s3_session.h"

#include <doctest/doctest.h>

#include "support/s3_script.h"

namespace wdelta {

TEST_CASE("what a store answers decides what kind of error it is") {
  const auto kind = [](int status, const std::string& code) {
    const auto result = ReadFrom(HttpText(status, "", code.empty() ? "<html>" : ErrorXml(code)));
    REQUIRE_FALSE(result.ok());
    return result.error().kind;
  };
  CHECK(kind(404, "NoSuchKey") == ErrorKind::kNotFound);
  CHECK(kind(404, "") == ErrorKind::kNotFound);
  CHECK(kind(403, "AccessDenied") == ErrorKind::kDenied);
  CHECK(kind(401, "") == ErrorKind::kDenied);
  CHECK(kind(400, "ExpiredToken") == ErrorKind::kDenied);
  for (const int status : {408, 409, 429, 500, 502, 503, 504}) CHECK(kind(status, "") == ErrorKind::kTransient);
  CHECK(kind(503, "SlowDown") == ErrorKind::kTransient);
  CHECK(kind(400, "RequestTimeout") == ErrorKind::kTransient);
  CHECK(kind(400, "InvalidRequest") == ErrorKind::kRefused);
  CHECK(kind(302, "") == ErrorKind::kRefused);
  CHECK_FAILS(ReadFrom(HttpText(404, "", ErrorXml("NoSuchBucket"))), ErrorKind::kNotFound, "no bucket 'bucket'");
}

TEST_CASE(
    "a denial names the store's reason and where the keys come from, and "
    "nothing secret or harmful") {
  const auto denied = ReadFrom(HttpText(403, "", ErrorXml("AccessDenied")));
  CHECK_FAILS(denied, ErrorKind::kDenied, "403 AccessDenied: because & ");
  CHECK_FAILS(denied, ErrorKind::kDenied, "environment");
  CHECK(denied.error().message.find("canary") == std::string::npos);
  CHECK(denied.error().message.find('\x1b') == std::string::npos);
}

TEST_CASE(
    "a clock that is off is corrected once, by the store's, and the user "
    "hears of it") {
  const Keys keys;
  const ScriptedServer server([](const SeenRequest& request) {
    if (request.Header("x-amz-date").starts_with("2033")) return Piece("0-0/1", "x");
    return HttpText(403, "Date: Wed, 18 May 2033 03:33:20 GMT\r\n", ErrorXml("RequestTimeTooSkewed"));
  });
  std::vector<std::string> notes;
  const auto remote = OpenAt(server, Context{.note = [&](const std::string& note) { notes.push_back(note); }});
  REQUIRE_OK(remote->Read("a", 0, 1));
  REQUIRE_OK(remote->Read("a", 0, 1));
  CHECK(server.seen().size() == 3);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].find("behind") != std::string::npos);
  CHECK_FAILS(ReadFrom(HttpText(403, "Date: Wed, 18 May 2033 03:33:20 GMT\r\n", ErrorXml("RequestTimeTooSkewed"))),
              ErrorKind::kDenied, "RequestTimeTooSkewed");
}

TEST_CASE("a question that HEAD cannot answer is asked again by GET, and mended") {
  const Keys keys;
  const ScriptedServer server([](const SeenRequest& request) {
    const bool in_time = request.Header("x-amz-date").starts_with("2033");
    if (request.line.starts_with("HEAD"))
      return in_time ? std::string(
                           "HTTP/1.1 200 OK\r\nConnection: "
                           "close\r\nContent-Length: 7\r\nETag: \"v1\"\r\nLast-Modified: "
                           "Fri, 24 May 2013 00:00:00 GMT\r\n\r\n")
                     : std::string(
                           "HTTP/1.1 403 No\r\nConnection: "
                           "close\r\nContent-Length: 0\r\n\r\n");
    if (in_time) return Piece("0-0/7", "x");
    return HttpText(403, "Date: Wed, 18 May 2033 03:33:20 GMT\r\n", ErrorXml("RequestTimeTooSkewed"));
  });
  const auto info = OpenAt(server)->Stat("a");
  REQUIRE_OK(info);
  REQUIRE(info->has_value());
  CHECK((*info)->size == 7);
  CHECK((*info)->modified == 1369353600);
  CHECK((*info)->key == "a");
  const auto denied =
      Asked(HttpText(403, "", ErrorXml("AccessDenied")), [](Remote& remote) { return remote.Stat("a"); });
  CHECK_FAILS(denied, ErrorKind::kDenied, "AccessDenied");
}

TEST_CASE("keys that have expired are fetched again, once") {
  const Keys keys;
  int asked = 0;
  const ScriptedServer server([&](const SeenRequest&) {
    return ++asked == 1 ? HttpText(400, "", ErrorXml("ExpiredToken")) : Piece("0-0/1", "x");
  });
  REQUIRE_OK(OpenAt(server)->Read("a", 0, 1));
  CHECK(asked == 2);
  CHECK_FAILS(ReadFrom(HttpText(400, "", ErrorXml("ExpiredToken"))), ErrorKind::kDenied, "ExpiredToken");
}

TEST_CASE(
    "a bucket in another region is signed for there, and the name of a "
    "region must be one") {
  const Keys keys;
  const ScriptedServer server([](const SeenRequest& request) {
    if (request.Header("authorization").find("/eu-west-1/") != std::string::npos) return Piece("0-0/1", "x");
    return HttpText(301,
                    "x-amz-bucket-region: eu-west-1\r\nLocation: "
                    "https://elsewhere.example/\r\n",
                    ErrorXml("PermanentRedirect"));
  });
  const auto remote = OpenAt(server);
  REQUIRE_OK(remote->Read("a", 0, 1));
  REQUIRE_OK(remote->Read("a", 0, 1));
  CHECK(server.seen().size() == 3);
  const ScriptedServer malformed([](const SeenRequest& request) {
    if (request.Header("authorization").find("/eu-west-1/") != std::string::npos) return Piece("0-0/1", "x");
    return HttpText(400, "", ErrorXml("AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>"));
  });
  REQUIRE_OK(OpenAt(malformed)->Read("a", 0, 1));
  CHECK_FAILS(ReadFrom(HttpText(301, "x-amz-bucket-region: evil.example/\r\n", ErrorXml("PermanentRedirect"))),
              ErrorKind::kRefused, "301");
}

TEST_CASE(
    "bytes of a Hugging Face bucket come from where its gateway points, "
    "and no credential goes there") {
  const Keys keys;
  const ScriptedServer edge([](const SeenRequest&) { return Piece("2-5/10", "cdef"); });
  const ScriptedServer gateway([&](const SeenRequest& request) {
    return request.line.starts_with("GET") ? HttpText(302, "Location: " + edge.url() + "/cdn?sig=1\r\n", "")
                                           : HttpText(302, "Location: " + edge.url() + "/put\r\n", "");
  });
  const Setting endpoint("WDELTA_HF_S3_ENDPOINT", gateway.url());
  const auto remote = Open("hf://buckets/ORG/name/run7", {});
  const auto piece = remote->Read("a/b", 2, 4, "\"v0\"");
  REQUIRE_OK(piece);
  CHECK(AsText(piece->bytes) == "cdef");
  CHECK(piece->version.empty());
  CHECK(gateway.seen().at(0).line == "GET /ORG/name/run7/a/b HTTP/1.1");
  CHECK(gateway.seen().at(0).Header("if-match") == "(none)");
  CHECK(edge.seen().at(0).line == "GET /cdn?sig=1 HTTP/1.1");
  CHECK(edge.seen().at(0).Header("range") == "bytes=2-5");
  CHECK(edge.seen().at(0).head.find("canary") == std::string::npos);
  CHECK(edge.seen().at(0).head.find("x-amz") == std::string::npos);
  CHECK_FAILS(remote->Write("a", Hello(), WriteRule::kReplace), ErrorKind::kRefused, "302");
  CHECK(edge.seen().size() == 1);
}

TEST_CASE("a store of S3 that redirects elsewhere is not followed") {
  const Keys keys;
  const ScriptedServer elsewhere([](const SeenRequest&) { return Piece("2-5/10", "cdef"); });
  CHECK_FAILS(ReadFrom(HttpText(307, "Location: " + elsewhere.url() + "/\r\n", "")), ErrorKind::kRefused, "307");
  CHECK(elsewhere.seen().empty());
}

TEST_CASE("a Hugging Face token is no key for the gateway, and the error says so") {
  const Setting none("AWS_ACCESS_KEY_ID", ""), secret("AWS_SECRET_ACCESS_KEY", ""), profile("AWS_PROFILE", "");
  const Setting files("AWS_SHARED_CREDENTIALS_FILE", "/dev/null"), config("AWS_CONFIG_FILE", "/dev/null");
  const Setting metadata("AWS_EC2_METADATA_DISABLED", "true"), token("HF_TOKEN", "hf_canary");
  const Setting endpoint("WDELTA_HF_S3_ENDPOINT", "http://127.0.0.1:1");
  const auto result = Open("hf://buckets/ORG/name", {})->Read("a", 0, 1);
  CHECK_FAILS(result, ErrorKind::kDenied, "does not open the S3 gateway");
  CHECK(result.error().message.find("canary") == std::string::npos);
  CHECK(result.error().hint.find("S3 credentials") != std::string::npos);
}

}  // namespace wdelta
