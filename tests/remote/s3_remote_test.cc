#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>

#include "core/digest.h"
#include "remote/contract.h"
#include "remote/s3_session.h"
#include "remote/stores.h"
#include "support/faulty_remote.h"
#include "support/s3_script.h"
#include "sync/record_commit.h"

namespace wdelta {

namespace {

constexpr const char* kTag = "ETag: \"v1\"\r\n";  // without one, an answer to a write is not from a store

// As many zeros as one likes.
class Zeros final : public ByteSource {
 public:
  explicit Zeros(uint64_t size) : size_(size) {}
  uint64_t size() const override { return size_; }
  Result<> ReadAt(uint64_t, MutableByteSpan out) const override {
    std::fill(out.begin(), out.end(), uint8_t{0});
    return {};
  }

 private:
  uint64_t size_;
};

}  // namespace

TEST_CASE(
    "a read asks for its range, signed, and takes only the bytes that it "
    "asked for") {
  const Keys keys;
  const ScriptedServer server([](const SeenRequest&) { return Piece("2-5/10", "cdef"); });
  const auto remote = OpenAt(server);
  const auto piece = remote->Read("a/b", 2, 4, "\"v1\"");
  REQUIRE_OK(piece);
  CHECK(AsText(piece->bytes) == "cdef");
  CHECK(piece->size == 10);
  CHECK(piece->etag == "\"v1\"");
  const SeenRequest seen = server.seen().at(0);
  CHECK(seen.line == "GET /bucket/run7/a/b HTTP/1.1");
  CHECK(seen.Header("range") == "bytes=2-5");
  CHECK(seen.Header("if-match") == "\"v1\"");
  CHECK(seen.Header("x-amz-security-token") == "token-canary");
  CHECK(seen.Header("authorization").starts_with("AWS4-HMAC-SHA256 Credential=AKCANARY/"));
  CHECK(seen.head.find("secret-canary") == std::string::npos);
}

TEST_CASE("an answer with other bytes than were asked for is not taken") {
  REQUIRE_OK(ReadFrom(Piece("2-5/10", "cdef")));
  REQUIRE_OK(ReadFrom(Piece("2-3/4", "cd")));
  CHECK_FAILS(ReadFrom(Piece("3-6/10", "defg")), ErrorKind::kTransient, "another range");
  CHECK_FAILS(ReadFrom(Piece("2-4/10", "cde")), ErrorKind::kTransient, "expected 4 bytes in an answer, found 3");
  CHECK_FAILS(ReadFrom(Piece("2-6/10", "cdefg")), ErrorKind::kTransient, "found 5");
  CHECK_FAILS(ReadFrom(Piece("2-5/3", "cdef")), ErrorKind::kTransient, "another range");
  CHECK_FAILS(ReadFrom(HttpText(206, "", "cdef")), ErrorKind::kTransient, "another range");
  CHECK_FAILS(ReadFrom(HttpText(412, "", "")), ErrorKind::kConflict, "changed");
  CHECK_FAILS(ReadFrom(Piece("2-5/10", "cdef"), 2, 4, "\"v0\""), ErrorKind::kConflict, "changed");
}

TEST_CASE("a store that ignores ranges is read all the same") {
  const auto middle = ReadFrom(HttpText(200, "", "abcdefghij"));
  REQUIRE_OK(middle);
  CHECK(AsText(middle->bytes) == "cdef");
  CHECK(middle->size == 10);
  const auto end = ReadFrom(HttpText(200, "", "abc"));
  REQUIRE_OK(end);
  CHECK(AsText(end->bytes) == "c");
}

TEST_CASE("a write if absent says so, and tells who was first") {
  const Keys keys;
  for (const auto& [status, expected] : {std::pair(200, WriteResult::kWritten), std::pair(412, WriteResult::kExists)}) {
    const ScriptedServer server([status = status](const SeenRequest&) { return HttpText(status, kTag, ""); });
    const auto remote = OpenAt(server);
    const auto result = remote->Write("a/b", Hello(), WriteRule::kIfAbsent);
    REQUIRE_OK(result);
    CHECK(*result == expected);
    CHECK(server.seen().at(0).line == "PUT /bucket/run7/a/b HTTP/1.1");
    CHECK(server.seen().at(0).Header("if-none-match") == "*");
    CHECK(server.seen().at(0).body == "hello");
    CHECK(server.seen().at(0).Header("x-amz-content-sha256") ==
          "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
  }
  const auto write = [](WriteRule rule) {
    return [rule](Remote& remote) { return remote.Write("a/b", Hello(), rule); };
  };
  CHECK_FAILS(Asked(HttpText(200, "Content-Type: text/html\r\n", "<html>welcome</html>"), write(WriteRule::kReplace)),
              ErrorKind::kTransient, "not from a store");
  CHECK_FAILS(Asked(HttpText(409, "", ErrorXml("ConditionalRequestConflict")), write(WriteRule::kIfAbsent)),
              ErrorKind::kTransient, "409");
  CHECK_FAILS(Asked(HttpText(412, "", ErrorXml("PreconditionFailed")), write(WriteRule::kReplace)),
              ErrorKind::kConflict, "412");
}

namespace {

// A store that answers each method in its own way. To HEAD it says `etag`, or that there is nothing if that is empty.
std::string PointerStore(const SeenRequest& request, const std::string& etag, const std::string& put_answer) {
  if (request.line.starts_with("PUT")) return put_answer;
  if (etag.empty()) return "HTTP/1.1 404 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
  return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\nETag: " + etag + "\r\n\r\n";
}

Result<WriteResult> ReplaceIfEtag(Remote& remote, const std::string& etag = "\"v1\"") {
  return remote.Write("a/b", Hello(), WriteRule::kIfEtag, etag);
}

}  // namespace

TEST_CASE("a replacement on condition of an etag names it, and tells whether the object was still that one") {
  const Keys keys;
  struct Case {
    std::string there, answer;
    WriteResult expected;
    size_t requests;
  };
  for (const Case& one :
       {Case{"", HttpText(200, kTag, ""), WriteResult::kWritten, 1},
        Case{"\"v2\"", HttpText(412, "", ErrorXml("PreconditionFailed")), WriteResult::kChanged, 2},
        Case{"", HttpText(412, "", ErrorXml("PreconditionFailed")), WriteResult::kChanged, 2},
        Case{"", HttpText(404, "", ErrorXml("NoSuchKey")), WriteResult::kChanged, 1},
        // What nobody changed, and still is not to be had, must have changed and changed back.
        Case{"\"v1\"", HttpText(412, "", ErrorXml("PreconditionFailed")), WriteResult::kChanged, 3}}) {
    const ScriptedServer server(
        [&](const SeenRequest& request) { return PointerStore(request, one.there, one.answer); });
    const auto result = ReplaceIfEtag(*OpenAt(server));
    REQUIRE_OK(result);
    CHECK(*result == one.expected);
    CHECK(server.seen().size() == one.requests);
    const SeenRequest first = server.seen().at(0);
    CHECK(first.line == "PUT /bucket/run7/a/b HTTP/1.1");
    CHECK(first.Header("if-match") == "\"v1\"");
    CHECK(first.Header("if-none-match") == "(none)");
    CHECK(first.Header("authorization").find("if-match;") != std::string::npos);
    CHECK(first.body == "hello");
  }
}

TEST_CASE("a store that knows a version only without its quotes is asked without them, and only if it is the same") {
  const Keys keys;
  const ScriptedServer server([](const SeenRequest& request) {
    const bool bare = request.Header("if-match") == "v1";
    return PointerStore(request, "\"v1\"", bare ? HttpText(200, kTag, "") : HttpText(412, "", ""));
  });
  const auto remote = OpenAt(server);
  const auto same = ReplaceIfEtag(*remote);
  REQUIRE_OK(same);
  CHECK(*same == WriteResult::kWritten);
  CHECK(server.seen().size() == 3);
  const auto other = ReplaceIfEtag(*remote, "\"v0\"");
  REQUIRE_OK(other);
  CHECK(*other == WriteResult::kChanged);
  CHECK(server.seen().size() == 5);
}

TEST_CASE(
    "a replacement on condition of an etag that cannot be is refused before anything is sent, and failures are told "
    "apart") {
  const auto replace = [](Remote& remote) { return ReplaceIfEtag(remote); };
  CHECK_FAILS(Asked(HttpText(409, "", ErrorXml("ConditionalRequestConflict")), replace), ErrorKind::kTransient, "409");
  CHECK_FAILS(Asked(HttpText(404, "", ErrorXml("NoSuchBucket")), replace), ErrorKind::kNotFound, "no bucket");
  CHECK_FAILS(Asked(HttpText(501, "", ErrorXml("NotImplemented")), replace), ErrorKind::kRefused, "501");
  CHECK_FAILS(Asked(HttpText(200, "", "welcome"), replace), ErrorKind::kTransient, "not from a store");
  const Keys keys;
  const ScriptedServer server([](const SeenRequest&) { return HttpText(200, kTag, ""); });
  CHECK_FAILS(ReplaceIfEtag(*OpenAt(server), ""), ErrorKind::kRefused, "version is not known");
  CHECK_FAILS(OpenAt(server)->Write("a", Zeros((64 << 20) + 1), WriteRule::kIfEtag, "\"v1\""), ErrorKind::kRefused,
              "sent in parts");
  const Setting endpoint("WDELTA_HF_S3_ENDPOINT", server.url());
  CHECK_FAILS(ReplaceIfEtag(*Open("hf://buckets/ORG/name/run7", {})), ErrorKind::kRefused, "names no versions");
  CHECK(server.seen().empty());
}

TEST_CASE("a store is asked to encrypt what is written, if the user wants that") {
  const Keys keys;
  const ScriptedServer server([](const SeenRequest&) { return HttpText(200, kTag, ""); });
  {
    const Setting kind("WDELTA_SSE", "aws:kms"), key("WDELTA_SSE_KMS_KEY_ID", "alias/weights");
    REQUIRE_OK(OpenAt(server)->Write("a", Hello(), WriteRule::kReplace));
    CHECK(server.seen().back().Header("x-amz-server-side-encryption") == "aws:kms");
    CHECK(server.seen().back().Header("x-amz-server-side-encryption-aws-kms-key-id") == "alias/weights");
    CHECK(server.seen().back().Header("authorization").find("x-amz-server-side-encryption;") != std::string::npos);
  }
  {
    const Setting kind("WDELTA_SSE", "AES256");
    REQUIRE_OK(OpenAt(server)->Write("a", Hello(), WriteRule::kReplace));
    CHECK(server.seen().back().Header("x-amz-server-side-encryption") == "AES256");
  }
  const Setting kind("WDELTA_SSE", "rot13");
  CHECK_FAILS(OpenS3Remote("s3://bucket", {}, {}), ErrorKind::kUsage, "rot13");
}

TEST_CASE(
    "a listing is relative to the prefix, and one that is not what was "
    "asked for is refused") {
  const auto list = [](const std::string& contents, const std::string& after = "", bool more = false) {
    const std::string xml = "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>" +
                            std::string(more ? "true" : "false") + "</IsTruncated>" + contents + "</ListBucketResult>";
    return Asked(HttpText(200, "Date: Fri, 24 May 2013 00:00:00 GMT\r\n", xml),
                 [&](Remote& remote) { return remote.List("a/", after, 2); });
  };
  const auto object = [](const std::string& key) {
    return "<Contents><Key>" + key + "</Key><Size>1</Size></Contents>";
  };
  const auto page = list(object("run7%2Fa%2Fx") + object("run7/a/y"), "", true);
  REQUIRE_OK(page);
  REQUIRE(page->objects.size() == 2);
  CHECK(page->objects[0].key == "a/x");
  CHECK(page->objects[1].key == "a/y");
  CHECK(page->more);
  CHECK(page->now == 1369353600);
  CHECK_FAILS(list(object("run7/b/x")), ErrorKind::kIntegrity, "outside");
  CHECK_FAILS(list(object("a/x")), ErrorKind::kIntegrity, "outside");
  CHECK_FAILS(list(object("run7/a/y") + object("run7/a/x")), ErrorKind::kIntegrity, "not in order");
  CHECK_FAILS(list(object("run7/a/x") + object("run7/a/x")), ErrorKind::kIntegrity, "not in order");
  CHECK_FAILS(list(object("run7/a/x"), "a/x"), ErrorKind::kIntegrity, "not in order");
  CHECK_FAILS(list("", "", true), ErrorKind::kIntegrity, "gives nothing");
}

namespace {

// A store that takes an upload in parts, and may fail at its end.
std::string MultipartStore(const SeenRequest& request, const std::string& last_answer) {
  if (request.line.starts_with("HEAD")) return "HTTP/1.1 404 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
  if (request.line.find("?uploads=") != std::string::npos)
    return HttpText(200, "",
                    "<InitiateMultipartUploadResult><UploadId>id</UploadId></"
                    "InitiateMultipartUploadResult>");
  if (request.line.find("partNumber=") != std::string::npos) return HttpText(200, "ETag: \"e\"\r\n", "");
  if (request.line.starts_with("DELETE")) return HttpText(204, "", "");
  return last_answer;
}

}  // namespace

TEST_CASE(
    "a failure that is told inside of a success is a failure, and its "
    "parts are thrown away") {
  const Keys keys;
  const Zeros source((64 << 20) + 1);
  struct Case {
    std::string answer;
    bool fails;
    WriteResult result;
  };
  for (const Case& one :
       {Case{HttpText(200, "",
                      "<CompleteMultipartUploadResult><ETag>x</ETag></"
                      "CompleteMultipartUploadResult>"),
             false, WriteResult::kWritten},
        Case{HttpText(200, "", ErrorXml("InternalError")), true, {}}, Case{HttpText(200, "", ""), true, {}},
        Case{HttpText(200, "", ErrorXml("PreconditionFailed")), false, WriteResult::kExists},
        Case{HttpText(412, "", ErrorXml("PreconditionFailed")), false, WriteResult::kExists}}) {
    const ScriptedServer server([&](const SeenRequest& request) { return MultipartStore(request, one.answer); });
    const auto result = OpenAt(server)->Write("a", source, WriteRule::kIfAbsent);
    if (one.fails) {
      CHECK_FAILS(result, ErrorKind::kTransient, "run7/a");
    } else {
      REQUIRE_OK(result);
      CHECK(*result == one.result);
    }
    const bool aborted = server.seen().back().line == "DELETE /bucket/run7/a?uploadId=id HTTP/1.1";
    CHECK(aborted == !(result.ok() && *result == WriteResult::kWritten));
    CHECK(server.seen().size() == (aborted ? 9 : 8));  // HEAD, begin, five parts, complete
  }
}

namespace {

// Zeros that count how often they are read; they may know their digest.
class CountedZeros final : public ByteSource {
 public:
  CountedZeros(uint64_t size, std::optional<Sha256Digest> sha256) : size_(size), sha256_(sha256) {}
  uint64_t size() const override { return size_; }
  Result<> ReadAt(uint64_t, MutableByteSpan out) const override {
    std::fill(out.begin(), out.end(), uint8_t{0});
    read += out.size();
    return {};
  }
  std::optional<Sha256Digest> sha256() const override { return sha256_; }
  mutable std::atomic<uint64_t> read = 0;

 private:
  const uint64_t size_;
  const std::optional<Sha256Digest> sha256_;
};

}  // namespace

TEST_CASE("what knows its digest is read once, to be sent, and so is every part of a large object") {
  const Keys keys;
  const std::string done =
      HttpText(200, "ETag: \"e\"\r\n", "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>");
  const ScriptedServer server([&](const SeenRequest& request) { return MultipartStore(request, done); });
  const Bytes zeros(100'000);
  const CountedZeros unknown(zeros.size(), {}), known(zeros.size(), DigestSha256(zeros));
  const CountedZeros large((64 << 20) + 1, {});
  for (const CountedZeros* source : {&unknown, &known, &large}) {
    REQUIRE_OK(OpenAt(server)->Write("a", *source, WriteRule::kReplace));
  }
  CHECK(unknown.read == 2 * zeros.size());  // it has to be hashed first
  CHECK(known.read == zeros.size());
  CHECK(large.read == large.size());
  CHECK(server.seen()[1].Header("x-amz-content-sha256") == Hex(DigestSha256(zeros)));
}

TEST_CASE("S3 that asks to be slowed down says for how long") {
  const auto slow_down = ReadFrom(HttpText(503, "Retry-After: 9\r\n", ErrorXml("SlowDown")));
  CHECK_FAILS(slow_down, ErrorKind::kTransient, "SlowDown");
  CHECK(slow_down.error().retry_after == 9);
  CHECK(ReadFrom(HttpText(503, "", ErrorXml("SlowDown"))).error().retry_after == 0);
}

TEST_CASE("a key that is not in the grammar is not sent") {
  const auto result = Asked("", [](Remote& remote) { return remote.Read("../a", 0, 1); });
  CHECK_FAILS(result, ErrorKind::kRefused, "../a");
}

// From here on against a real store, which tests/remote/run starts.

namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}
bool Without(const char* name) {
  return Variable(name).empty();
}

constexpr char kBucketUrl[] = "s3://wdelta-contract/run7";

void CreateBucket(const TransferOptions& options, BucketPlace bucket) {
  const auto address = ParseS3Address(kBucketUrl, {options.endpoint, "", bucket});
  REQUIRE_OK(address);
  S3Session session(*address, options, {});
  S3Call call;
  call.method = "PUT";
  const auto answer = session.Send(call);
  REQUIRE_OK(answer);
  REQUIRE((answer->status == 200 || answer->status == 409));
}

}  // namespace

TEST_CASE("S3 over http keeps what a remote promises" * doctest::skip(Without("WDELTA_TEST_S3"))) {
  TransferOptions options;
  options.endpoint = Variable("WDELTA_TEST_S3");
  CreateBucket(options, BucketPlace::kBySuitability);
  ContractTraits traits;
  traits.large = true;
  CheckContract([&] { return Open(kBucketUrl, options); }, traits);
}

TEST_CASE("S3 behind faults keeps what a remote promises" * doctest::skip(Without("WDELTA_TEST_S3"))) {
  TransferOptions options;
  options.endpoint = Variable("WDELTA_TEST_S3");
  CreateBucket(options, BucketPlace::kBySuitability);
  uint64_t seed = 0;
  CheckContract([&] { return BehindFaults(Open(kBucketUrl, options), ++seed); }, {.listed = 40});
}

TEST_CASE("a real store is found to replace on condition" * doctest::skip(Without("WDELTA_TEST_S3"))) {
  TransferOptions options;
  options.endpoint = Variable("WDELTA_TEST_S3");
  CreateBucket(options, BucketPlace::kBySuitability);
  const auto keeps = KeepsConditionalReplace(*Open(kBucketUrl, options), [](const std::string&) {});
  REQUIRE_OK(keeps);
  CHECK(*keeps);
}

TEST_CASE("what comes damaged out of S3 is found where it is used" * doctest::skip(Without("WDELTA_TEST_S3"))) {
  TransferOptions options;
  options.endpoint = Variable("WDELTA_TEST_S3");
  CreateBucket(options, BucketPlace::kBySuitability);
  const std::string url = std::string(kBucketUrl) + "/damage-" + RandomHex(6);
  const auto open = [&] { return Open(url, options); };
  CheckDamageIsFound(open, open);
}

TEST_CASE("S3 over https keeps what a remote promises" * doctest::skip(Without("WDELTA_TEST_S3_TLS"))) {
  TransferOptions options;
  options.endpoint = Variable("WDELTA_TEST_S3_TLS");
  options.ca_file = Variable("WDELTA_TEST_S3_CA");
  CreateBucket(options, BucketPlace::kBySuitability);
  ContractTraits traits;
  traits.listed = 20;
  CheckContract([&] { return Open(kBucketUrl, options); }, traits);
}

TEST_CASE("S3 with the bucket in the host name keeps what a remote promises" *
          doctest::skip(Without("WDELTA_TEST_S3_VIRTUAL"))) {
  const Setting addressing("WDELTA_S3_ADDRESSING", "virtual");
  TransferOptions options;
  options.endpoint = Variable("WDELTA_TEST_S3_VIRTUAL");
  CreateBucket(options, BucketPlace::kHost);
  ContractTraits traits;
  traits.listed = 20;
  CheckContract([&] { return Open(kBucketUrl, options); }, traits);
}

TEST_CASE("a certificate that nobody vouches for is refused" * doctest::skip(Without("WDELTA_TEST_S3_TLS"))) {
  const Setting aws("AWS_CA_BUNDLE", ""), curl("CURL_CA_BUNDLE", ""), ssl("SSL_CERT_FILE", "");
  TransferOptions options;
  options.endpoint = Variable("WDELTA_TEST_S3_TLS");
  const auto result = Open(kBucketUrl, options)->Stat("a");
  CHECK_FAILS(result, ErrorKind::kDenied, "certificate");
  CHECK(result.error().hint.find("--ca-file") != std::string::npos);
}

TEST_CASE("a real store refuses wrong keys, and knows no other bucket" * doctest::skip(Without("WDELTA_TEST_S3"))) {
  TransferOptions options;
  options.endpoint = Variable("WDELTA_TEST_S3");
  CHECK_FAILS(Open("s3://no-such-bucket-here/x", options)->Read("a", 0, 1), ErrorKind::kNotFound, "no bucket");
  CHECK_FAILS(Open("s3://no-such-bucket-here/x", options)->List("", "", 1), ErrorKind::kNotFound, "no bucket");
  CHECK_FAILS(Open("s3://no-such-bucket-here/x", options)->Write("a", Hello(), WriteRule::kIfAbsent),
              ErrorKind::kNotFound, "no bucket");
  const Setting secret("AWS_SECRET_ACCESS_KEY", "wrong-canary");
  const auto denied = Open(kBucketUrl, options)->Stat("a");
  CHECK_FAILS(denied, ErrorKind::kDenied, "403");
  CHECK(denied.error().message.find("canary") == std::string::npos);
}

TEST_CASE("a prefix with unusual characters is signed as the store expects" *
          doctest::skip(Without("WDELTA_TEST_S3"))) {
  TransferOptions options;
  options.endpoint = Variable("WDELTA_TEST_S3");
  CreateBucket(options, BucketPlace::kBySuitability);
  const auto remote = Open("s3://wdelta-contract/Run 7/a+b=c&d;e,f'(g)!*~$@:%2F/\xc3\xa4", options);
  REQUIRE_OK(remote->Write("k", Hello(), WriteRule::kReplace));
  const auto piece = remote->Read("k", 1, 3);
  REQUIRE_OK(piece);
  CHECK(AsText(piece->bytes) == "ell");
  const auto page = remote->List("", "j", 10);
  REQUIRE_OK(page);
  REQUIRE(page->objects.size() == 1);
  CHECK(page->objects[0].key == "k");
  REQUIRE_OK(remote->Remove("k"));
}

TEST_CASE("keys of a session work with their token, and not without" * doctest::skip(Without("WDELTA_TEST_S3_TOKEN"))) {
  TransferOptions options;
  options.endpoint = Variable("WDELTA_TEST_S3");
  const Setting access("AWS_ACCESS_KEY_ID", Variable("WDELTA_TEST_S3_TOKEN_ACCESS"));
  const Setting secret("AWS_SECRET_ACCESS_KEY", Variable("WDELTA_TEST_S3_TOKEN_SECRET"));
  {
    const Setting token("AWS_SESSION_TOKEN", Variable("WDELTA_TEST_S3_TOKEN"));
    const auto remote = Open("s3://wdelta-contract/session", options);
    REQUIRE_OK(remote->Write("k", Hello(), WriteRule::kReplace));
    REQUIRE_OK(remote->Read("k", 0, 5));
    REQUIRE_OK(remote->Remove("k"));
  }
  const Setting token("AWS_SESSION_TOKEN", "");
  CHECK_FAILS(Open("s3://wdelta-contract/session", options)->Read("k", 0, 5), ErrorKind::kDenied, "403");
}

TEST_CASE(
    "what another client wrote reads the same, and ours is left for it "
    "to read" *
    doctest::skip(Without("WDELTA_TEST_S3_THEIRS"))) {
  TransferOptions options;
  options.endpoint = Variable("WDELTA_TEST_S3");
  const auto remote = Open("s3://wdelta-interop/from/them", options);
  const std::string expected = Variable("WDELTA_TEST_S3_THEIRS");
  const auto small = remote->Read("small", 0, 1000);
  REQUIRE_OK(small);
  CHECK(AsText(small->bytes) == expected);
  // Written in parts, all of them zeros.
  const auto large = remote->Stat("large");
  REQUIRE_OK(large);
  REQUIRE(large->has_value());
  const auto end = remote->Read("large", (*large)->size - 10, 100);
  REQUIRE_OK(end);
  CHECK(end->bytes == Bytes(10, 0));
  const auto page = remote->List("", "", 10);
  REQUIRE_OK(page);
  CHECK(page->objects.size() == 2);
  const auto ours = Open("s3://wdelta-interop/from/us", options);
  REQUIRE_OK(ours->Write("small", MemorySource(AsBytes(expected)), WriteRule::kIfAbsent));
  REQUIRE_OK(ours->Write("large", Zeros((64 << 20) + 1), WriteRule::kIfAbsent));
}

}  // namespace wdelta
