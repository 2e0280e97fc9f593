#include "remote/http_text.h"

#include <doctest/doctest.h>

#include "support/expect.h"

namespace wdelta {

TEST_CASE("a URL is taken apart") {
  const auto url = ParseHttpUrl("HTTPS://Example.com:8443/a%20b/../c?d=e#f");
  REQUIRE_OK(url);
  CHECK(url->scheme == "https");
  CHECK(url->host == "example.com");
  CHECK(url->Host() == "example.com:8443");
  CHECK(url->path == "/a%20b/../c");
  CHECK(url->query == "d=e");
  CHECK(ParseHttpUrl("http://[::1]:80")->Host() == "[::1]");
  CHECK(ParseHttpUrl("https://h?q")->path.empty());
}

TEST_CASE("what is no URL for http is refused") {
  for (const char* url : {"",
                          "http",
                          "http:/x",
                          "http://",
                          "http:///path",
                          "ftp://x",
                          "file:///etc/passwd",
                          "http://a b",
                          "http://a\nb",
                          "http://u@x",
                          "http://u:p@x",
                          "http://x:",
                          "http://x:0",
                          "http://x:99999",
                          "http://x:1a",
                          "http://x\\y",
                          "http://[::1",
                          "http://[zz]",
                          "http://a,b",
                          "http://\xc3\xa4",
                          "//x"})
    CHECK_FAILS(ParseHttpUrl(url), ErrorKind::kUsage, "not an http or https URL");
}

TEST_CASE("for people a URL has no user, no password, no query") {
  CHECK(UrlForPeople("https://u:p@h:1/a@b?token=x#y") == "https://h:1/a@b");
  CHECK(UrlForPeople("https://h") == "https://h");
  CHECK(UrlForPeople("u:p@h") == "h");
}

TEST_CASE("what was encoded decodes to itself, and a bad escape does not decode") {
  std::string all;
  for (int c = 0; c < 256; ++c) all.push_back(static_cast<char>(c));
  CHECK(PercentDecode(PercentEncode(all, false)) == all);
  CHECK(PercentEncode("a/b c~", true) == "a/b%20c~");
  CHECK(PercentEncode("a/b", false) == "a%2Fb");
  CHECK(PercentDecode("a+b%2f%2F") == "a b//");
  for (const char* text : {"%", "%1", "%g0", "%0g", "a%"}) CHECK_FALSE(PercentDecode(text));
}

TEST_CASE("dates are read, and only dates") {
  CHECK(ParseHttpDate("Fri, 24 May 2013 00:00:00 GMT") == 1369353600);
  CHECK(ParseHttpDate("Thu, 01 Jan 1970 00:00:01 GMT") == 1);
  CHECK(ParseIsoDate("2013-05-24T00:00:00.000Z") == 1369353600);
  CHECK(ParseIsoDate("2013-05-24T00:00:00Z") == 1369353600);
  for (const char* text :
       {"", "Fri, 24 May 2013 00:00:00", "Fri, 24 Foo 2013 00:00:00 GMT", "Fri, 32 May 2013 00:00:00 GMT",
        "Fri, 24 May 1913 00:00:00 GMT", "Fri, 2x May 2013 00:00:00 GMT", "Fri, 24 May 2013 24:00:00 GMT"})
    CHECK_FALSE(ParseHttpDate(text));
  for (const char* text :
       {"", "2013-05-24", "2013-05-24T00:00:00+01:00", "2013-13-24T00:00:00Z", "20x3-05-24T00:00:00Z"})
    CHECK_FALSE(ParseIsoDate(text));
}

TEST_CASE("a content range is read, and only if it can be one") {
  const auto range = ParseContentRange("bytes 3-9/100");
  REQUIRE(range);
  CHECK(range->first == 3);
  CHECK(range->last == 9);
  CHECK(range->size == 100);
  REQUIRE(ParseContentRange("bytes */100"));
  CHECK(ParseContentRange("bytes */100")->first > ParseContentRange("bytes */100")->last);
  for (const char* text : {"", "bytes", "bytes 3-9", "bytes 3-9/*", "bytes 9-3/100", "bytes 3-100/100", "bytes 3/100",
                           "items 3-9/100", "bytes -3-9/100", "bytes 3-9/99999999999999999999"})
    CHECK_FALSE(ParseContentRange(text));
}

}  // namespace wdelta
