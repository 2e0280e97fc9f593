#include "remote/redirect.h"

#include <doctest/doctest.h>

#include "support/expect.h"
#include "support/scripted_server.h"

namespace wdelta {

TEST_CASE("a redirect leads where it says, also when it is relative") {
  const HttpUrl from = *ParseHttpUrl("https://a.example:8443/x/y?q");
  const auto to = [&](const char* location) {
    const auto url = ResolveRedirect(from, location);
    return url.ok() ? url->Origin() + url->path + "?" + url->query : url.error().message;
  };
  CHECK(to("https://b.example/z?k=v") == "https://b.example/z?k=v");
  CHECK(to("//b.example/z") == "https://b.example/z?");
  CHECK(to("/z") == "https://a.example:8443/z?");
  CHECK(to("z?a:b") == "https://a.example:8443/x/z?a:b");
}

TEST_CASE("a redirect never leads from https to http, to another scheme, or from outside into a private network") {
  const HttpUrl secure = *ParseHttpUrl("https://a.example/"), plain = *ParseHttpUrl("http://a.example/");
  CHECK_FAILS(ResolveRedirect(secure, "http://a.example/"), ErrorKind::kRefused, "from https to http");
  CHECK(ResolveRedirect(plain, "https://a.example/").ok());
  for (const char* location : {"file:///etc/passwd", "ftp://b.example/", "gopher://x", "https://u:p@b.example/",
                               "https://", "javascript:1", "https://b.example/\r\nX: y"})
    CHECK_FAILS(ResolveRedirect(secure, location), ErrorKind::kRefused, "redirects to what is");
  for (const char* location :
       {"https://127.0.0.1/", "https://localhost/", "https://x.localhost/", "https://169.254.169.254/",
        "https://10.1.2.3/", "https://192.168.0.1/", "https://172.16.0.1/", "https://172.31.255.255/",
        "https://100.64.0.1/", "https://0.0.0.0/", "https://[::1]/", "https://[::ffff:127.0.0.1]/",
        "https://[fe80::1]/", "https://[fd00::1]/", "https://[::]/", "https://2130706433/", "https://0x7f.1/",
        "https://127.1/", "https://224.0.0.1/"})
    CHECK_FAILS(ResolveRedirect(secure, location), ErrorKind::kRefused, "private network");
  CHECK(ResolveRedirect(secure, "https://172.32.0.1/").ok());
  CHECK(ResolveRedirect(secure, "https://[2001:db8::1]/").ok());
  CHECK(ResolveRedirect(*ParseHttpUrl("http://127.0.0.1:80/"), "http://127.0.0.1:81/").ok());
}

TEST_CASE("a redirect is an answer; followed, it takes only the range along, five times at most") {
  const ScriptedServer elsewhere([](const SeenRequest& request) {
    return HttpText(206, "Content-Range: bytes 0-1/2\r\n", request.Header("range") == "bytes=0-1" ? "ok" : "no");
  });
  const ScriptedServer server([&](const SeenRequest& request) {
    const std::string to = request.line.starts_with("GET /loop") ? "/loop" : elsewhere.url() + "/x?signed=1";
    return HttpText(302, "Location: " + to + "\r\n", "");
  });
  HttpClient client({}, {});
  HttpRequest request;
  request.url = server.url() + "/start";
  request.headers = {{"Authorization", "canary"}, {"x-amz-security-token", "canary"}, {"Range", "bytes=0-1"}};
  const auto first = client.Send(request);
  REQUIRE_OK(first);
  CHECK(first->status == 302);
  CHECK(elsewhere.seen().empty());
  const auto followed = Follow(client, request, *first);
  REQUIRE_OK(followed);
  CHECK(AsText(followed->body) == "ok");
  CHECK(elsewhere.seen().at(0).line == "GET /x?signed=1 HTTP/1.1");
  CHECK(elsewhere.seen().at(0).head.find("canary") == std::string::npos);
  request.url = server.url() + "/loop";
  const auto loop = client.Send(request);
  REQUIRE_OK(loop);
  CHECK_FAILS(Follow(client, request, *loop), ErrorKind::kRefused, "more than 5 times");
}

}  // namespace wdelta
