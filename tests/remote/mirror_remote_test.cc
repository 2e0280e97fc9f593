#include <doctest/doctest.h>

#include <cstdlib>

#include "core/digest.h"
#include "remote/contract.h"
#include "remote/stores.h"
#include "support/expect.h"
#include "support/faulty_remote.h"
#include "support/scripted_server.h"

namespace wdelta {

namespace {

std::unique_ptr<Remote> Open(const std::string& url) {
  auto remote = OpenMirrorRemote(url, {}, {});
  REQUIRE_OK(remote);
  return std::move(*remote);
}

Result<ObjectPiece> ReadFrom(const std::string& answer, const std::string& etag = {}) {
  const ScriptedServer server([&](const SeenRequest&) { return answer; });
  return Open(server.url() + "/run7/")->Read("a/b", 2, 4, etag);
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

TEST_CASE("a mirror gives the range that it is asked for") {
  const ScriptedServer server(
      [](const SeenRequest&) { return HttpText(206, "Content-Range: bytes 2-5/10\r\nETag: W/\"e\"\r\n", "cdef"); });
  const auto remote = Open(server.url() + "/run7/");
  CHECK(remote->url() == server.url() + "/run7");
  const auto piece = remote->Read("a/b", 2, 4);
  REQUIRE_OK(piece);
  CHECK(AsText(piece->bytes) == "cdef");
  CHECK(piece->size == 10);
  REQUIRE_OK(remote->Read("a/b", 2, 4, piece->etag));
  CHECK_FAILS(remote->Read("a/b", 2, 4, "\"other\""), ErrorKind::kConflict, "changed");
  CHECK(server.seen().at(0).line == "GET /run7/a/b HTTP/1.1");
  CHECK(server.seen().at(0).Header("range") == "bytes=2-5");
  CHECK(server.seen().at(0).Header("authorization") == "(none)");
}

TEST_CASE("a mirror whose server ignores ranges, or redirects, is read all the same") {
  const auto all = ReadFrom(HttpText(200, "", "abcdefghij"));
  REQUIRE_OK(all);
  CHECK(AsText(all->bytes) == "cdef");
  const ScriptedServer elsewhere([](const SeenRequest& request) {
    if (request.line.starts_with("HEAD")) return std::string("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");
    return HttpText(206, "Content-Range: bytes 2-5/9\r\n", "cdef");
  });
  const ScriptedServer server(
      [&](const SeenRequest&) { return HttpText(301, "Location: " + elsewhere.url() + "/x\r\n", ""); });
  const auto remote = Open(server.url());
  const auto piece = remote->Read("a/b", 2, 4);
  REQUIRE_OK(piece);
  CHECK(piece->size == 9);
  const auto info = remote->Stat("a/b");
  REQUIRE_OK(info);
  REQUIRE(info->has_value());
  CHECK((*info)->size == 9);
}

TEST_CASE("what a mirror's server answers decides what kind of error it is") {
  CHECK_FAILS(ReadFrom(HttpText(404, "", "")), ErrorKind::kNotFound, "/run7/a/b");
  CHECK_FAILS(ReadFrom(HttpText(410, "", "")), ErrorKind::kNotFound, "/run7/a/b");
  CHECK_FAILS(ReadFrom(HttpText(403, "", "")), ErrorKind::kDenied, "403");
  CHECK_FAILS(ReadFrom(HttpText(503, "", "")), ErrorKind::kTransient, "503");
  CHECK_FAILS(ReadFrom(HttpText(429, "", "")), ErrorKind::kTransient, "429");
  CHECK_FAILS(ReadFrom(HttpText(400, "", "")), ErrorKind::kRefused, "400");
  CHECK_FAILS(ReadFrom(HttpText(206, "Content-Range: bytes 3-6/10\r\n", "defg")), ErrorKind::kTransient, "another");
  CHECK_FAILS(ReadFrom(HttpText(302, "Location: file:///etc/passwd\r\n", "")), ErrorKind::kRefused, "redirects");
}

TEST_CASE("a mirror that is busy says how long it wants to be left alone, in seconds or until when") {
  const auto asked = [](int status, const std::string& headers) {
    return ReadFrom(HttpText(status, headers, "")).error().retry_after;
  };
  CHECK(asked(503, "Retry-After: 7\r\n") == 7);
  CHECK(asked(429, "Retry-After: 0\r\n") == 0);
  CHECK(asked(429, "Date: Fri, 24 May 2013 00:00:00 GMT\r\nRetry-After: Fri, 24 May 2013 00:00:12 GMT\r\n") == 12);
  CHECK(asked(429, "Retry-After: Fri, 24 May 2013 00:00:12 GMT\r\n") == 0);  // long over
  for (const char* nonsense : {"soon", "-1", "1.5", "", "99999999999999999999"})
    CHECK(asked(503, "Retry-After: " + std::string(nonsense) + "\r\n") == 0);
  CHECK(asked(503, "") == 0);
  CHECK(asked(500, "Retry-After: 7\r\n") == 0);  // it is not the number of requests that ails it
}

TEST_CASE("a folder of a mirror is no object") {
  const ScriptedServer server([](const SeenRequest&) { return HttpText(301, "Location: /run7/a/b/\r\n", "moved"); });
  const auto remote = Open(server.url() + "/run7");
  CHECK_FAILS(remote->Read("a/b", 0, 1), ErrorKind::kNotFound, "/run7/a/b");
  CHECK(server.seen().size() == 1);
}

TEST_CASE("nothing can be written to a mirror, and its URL holds nothing but a place") {
  const auto remote = Open("http://127.0.0.1:1/x");
  const MemorySource source(AsBytes("x"));
  CHECK_FAILS(remote->Write("a", source, WriteRule::kReplace), ErrorKind::kRefused, "a mirror over http is read only");
  CHECK_FAILS(remote->Write("a", source, WriteRule::kIfEtag, "\"v1\""), ErrorKind::kRefused,
              "a mirror over http is read only");
  CHECK_FAILS(remote->Remove("a"), ErrorKind::kRefused, "a mirror over http is read only");
  CHECK_FAILS(remote->List("", "", 1), ErrorKind::kRefused, "list");
  CHECK_FAILS(remote->Read("../a", 0, 1), ErrorKind::kRefused, "../a");
  CHECK_FAILS(OpenMirrorRemote("http://u:p@h/x", {}, {}), ErrorKind::kUsage, "password");
  CHECK_FAILS(OpenMirrorRemote("http://h/x?y", {}, {}), ErrorKind::kUsage, "query");
}

// Against a real web server, which tests/remote/run starts: it serves the folder WDELTA_TEST_HTTP_ROOT.
TEST_CASE("a mirror behind a web server keeps what a remote promises, as far as it is one" *
          doctest::skip(Variable("WDELTA_TEST_HTTP_URL").empty())) {
  ContractTraits traits;
  traits.writable = false;
  traits.can_list = false;
  const auto open_writer = [] {
    auto remote = OpenFolderRemote("file://" + Variable("WDELTA_TEST_HTTP_ROOT"), {});
    REQUIRE_OK(remote);
    return std::move(*remote);
  };
  CheckContract([] { return Open(Variable("WDELTA_TEST_HTTP_URL")); }, traits, open_writer);
  uint64_t seed = 0;
  const auto open_faulty = [&] { return BehindFaults(Open(Variable("WDELTA_TEST_HTTP_URL")), ++seed); };
  CheckContract(open_faulty, traits, open_writer);
}

TEST_CASE("what comes damaged out of a mirror is found where it is used" *
          doctest::skip(Variable("WDELTA_TEST_HTTP_URL").empty())) {
  const std::string name = "/damage-" + RandomHex(6);
  CheckDamageIsFound([&] { return Open(Variable("WDELTA_TEST_HTTP_URL") + name); },
                     [&] {
                       auto remote = OpenFolderRemote("file://" + Variable("WDELTA_TEST_HTTP_ROOT") + name, {});
                       REQUIRE_OK(remote);
                       return std::move(*remote);
                     });
}

}  // namespace wdelta
