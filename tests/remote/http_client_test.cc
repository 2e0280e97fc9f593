#include "remote/http_client.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>

#include "core/parallel.h"
#include "support/expect.h"
#include "support/scripted_server.h"

namespace wdelta {

namespace {

Result<HttpAnswer> Get(const std::string& answer, uint64_t max_answer = 1 << 20) {
  const ScriptedServer server([&](const SeenRequest&) { return answer; });
  TransferOptions options;
  options.idle_timeout = 5;
  HttpClient client(options, {});
  HttpRequest request;
  request.url = server.url() + "/a/../b?secret=1";
  request.max_answer = max_answer;
  return client.Send(request);
}

}  // namespace

TEST_CASE("an answer arrives with its status, headers and body, and the path goes out as it is") {
  const ScriptedServer server(
      [](const SeenRequest&) { return HttpText(404, "X-One: a\r\nx-ONE:b  \r\nX-Empty:\r\n", "gone"); });
  HttpClient client({}, {});
  HttpRequest request;
  request.url = server.url() + "/a/../b%2f?c";
  request.headers = {{"X-Test", "yes"}};
  const auto answer = client.Send(request);
  REQUIRE_OK(answer);
  CHECK(answer->status == 404);
  CHECK(AsText(answer->body) == "gone");
  REQUIRE(answer->Header("x-one"));
  CHECK(*answer->Header("x-one") == "a");
  CHECK(std::count(answer->headers.begin(), answer->headers.end(), std::pair<std::string, std::string>("x-one", "b")) ==
        1);
  CHECK(answer->Header("x-none") == nullptr);
  REQUIRE(server.seen().size() == 1);
  CHECK(server.seen()[0].line == "GET /a/../b%2f?c HTTP/1.1");
  CHECK(server.seen()[0].Header("x-test") == "yes");
  CHECK(server.seen()[0].Header("accept-encoding") == "identity");
}

TEST_CASE("a body is sent from its source") {
  const ScriptedServer server([](const SeenRequest&) { return HttpText(200, "", ""); });
  HttpClient client({}, {});
  const MemorySource source(AsBytes("0123456789"));
  HttpRequest request;
  request.url = server.url();
  for (const char* method : {"PUT", "POST"}) {
    request.method = method;
    request.body = &source;
    REQUIRE_OK(client.Send(request));
    CHECK(server.seen().back().body == "0123456789");
    CHECK(server.seen().back().Header("expect") == "(none)");
    request.body = nullptr;
    REQUIRE_OK(client.Send(request));
    CHECK(server.seen().back().Header("content-length") == "0");
  }
  request.method = "DELETE";
  REQUIRE_OK(client.Send(request));
  CHECK(server.seen().back().line == "DELETE / HTTP/1.1");
}

TEST_CASE("an error of the source that a body comes from is the error of the request") {
  const ScriptedServer server([](const SeenRequest&) { return HttpText(200, "", ""); });
  HttpClient client({}, {});
  struct Unreadable final : ByteSource {
    uint64_t size() const override { return 5; }
    Result<> ReadAt(uint64_t, MutableByteSpan) const override { return Error{ErrorKind::kIntegrity, "ends too early"}; }
  };
  const Unreadable source{};
  HttpRequest request;
  request.method = "PUT";
  request.url = server.url();
  request.body = &source;
  CHECK_FAILS(client.Send(request), ErrorKind::kIntegrity, "ends too early");
}

TEST_CASE("an answer longer than allowed is an error, however its length is told") {
  REQUIRE_OK(Get(HttpText(200, "", "0123456789"), 10));
  CHECK_FAILS(Get(HttpText(200, "", "0123456789"), 9), ErrorKind::kIntegrity, "answer longer than 9 bytes");
  CHECK_FAILS(Get("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n0123456789", 9), ErrorKind::kIntegrity, "longer");
  CHECK_FAILS(Get("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\n\r\n", 9),
              ErrorKind::kIntegrity, "longer");
  CHECK_FAILS(Get("HTTP/1.1 200 OK\r\nX: " + std::string(90'000, 'x') + "\r\nX: " + std::string(90'000, 'x') +
                  "\r\nX: " + std::string(90'000, 'x') + "\r\n\r\n"),
              ErrorKind::kIntegrity, "headers");
}

TEST_CASE("an answer that is cut off, or no answer at all, may work later, and the error shows nothing secret") {
  for (const char* answer :
       {"", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n012345678",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\nConnection: close\r\n\r\n0123",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\n01234", "no HTTP at all"}) {
    const auto result = Get(answer);
    INFO(std::string(answer));
    CHECK_FAILS(result, ErrorKind::kTransient, "/a/../b");
    CHECK((result.ok() || result.error().message.find("secret") == std::string::npos));
  }
  HttpClient client({}, {});
  HttpRequest request;
  request.url = "http://127.0.0.1:1/";
  CHECK_FAILS(client.Send(request), ErrorKind::kTransient, "127.0.0.1:1");
}

TEST_CASE("a coding that nobody asked for is an error, and a page of errors in one is only its status") {
  CHECK_FAILS(Get(HttpText(200, "Content-Encoding: gzip\r\n", "x")), ErrorKind::kIntegrity, "'gzip'");
  const auto page = Get(HttpText(503, "Content-Encoding: gzip\r\n", "x"));
  REQUIRE_OK(page);
  CHECK(page->status == 503);
  CHECK(page->body.empty());
}

TEST_CASE("of an answer to all of an object only the asked part is kept") {
  const ScriptedServer server([](const SeenRequest&) { return HttpText(200, "", "0123456789"); });
  HttpClient client({}, {});
  HttpRequest request;
  request.url = server.url();
  request.max_answer = 4;
  for (const auto& [offset, length, expected] :
       {std::tuple(0, 4, "0123"), std::tuple(3, 4, "3456"), std::tuple(8, 4, "89"), std::tuple(20, 4, "")}) {
    request.keep = ByteRange{static_cast<uint64_t>(offset), static_cast<uint64_t>(length)};
    const auto answer = client.Send(request);
    REQUIRE_OK(answer);
    CHECK(AsText(answer->body) == expected);
    CHECK(*answer->Header("content-length") == "10");
  }
}

TEST_CASE("other protocols are not spoken, and a header cannot bring another along") {
  HttpClient client({}, {});
  HttpRequest request;
  request.url = "file:///etc/passwd";
  CHECK_FAILS(client.Send(request), ErrorKind::kUsage, "file:///etc/passwd");
  request.url = "http://127.0.0.1:1/";
  request.headers = {{"X", "a\r\nY: b"}};
  CHECK_FAILS(client.Send(request), ErrorKind::kUsage, "line break");
}

TEST_CASE("an attempt ends when its time is over") {
  const ScriptedServer server([](const SeenRequest& request) {
    for (int i = 0; i < 30 && request.line.find("slow") != std::string::npos; ++i) usleep(100'000);
    return HttpText(200, "", "");
  });
  HttpClient client({}, {});
  HttpRequest request;
  request.url = server.url() + "/slow";
  request.timeout = 0.2;
  CHECK_FAILS(client.Send(request), ErrorKind::kTransient, "/slow");
}

TEST_CASE("after a stop a change that was sent is still answered, and a question is not") {
  for (const char* const each : {"PUT", "DELETE", "GET"}) {
    const std::string method = each;
    CAPTURE(method);
    const StopSource source;
    const ScriptedServer server([&](const SeenRequest&) {
      source.Request();
      usleep(300'000);
      return HttpText(200, "", "");
    });
    HttpClient client({}, {.stop = source.token()});
    const std::string text = "body";
    const MemorySource body(AsBytes(text));
    HttpRequest request;
    request.url = server.url() + "/";
    request.method = method;
    if (method == "PUT") request.body = &body;
    if (method == "GET") {
      CHECK_FAILS(client.Send(request), ErrorKind::kInterrupted, "interrupted");
    } else {
      const Result<HttpAnswer> answer = client.Send(request);
      REQUIRE_OK(answer);
      CHECK(answer->status == 200);
    }
    CHECK_FAILS(client.Send(request), ErrorKind::kInterrupted, "interrupted");
    HttpClient other({}, {.stop = StopSource().token()});
    REQUIRE_OK(other.Send(request));
  }
}

}  // namespace wdelta
