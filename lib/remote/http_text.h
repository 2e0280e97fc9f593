// The small languages inside HTTP: URLs, percent signs, dates, ranges. All of it comes from strangers, so each function
// says plainly when something is not in its language.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace wdelta {

// An absolute http or https URL in its parts, each as it was written, except that scheme and host are in lower case.
struct HttpUrl {
  std::string scheme;
  std::string host;            // a name or an address; IPv6 in brackets
  unsigned port = 0;           // 0: the scheme's own
  std::string path;            // encoded, empty or from the first slash on
  std::string query;           // encoded, without its question mark
  std::string Host() const;    // what the Host header says: with the port, unless it is the scheme's own
  std::string Origin() const;  // scheme and host, nothing behind
  bool operator==(const HttpUrl&) const = default;
};

// kUsage for another scheme, a user or password in it, white space, control characters, or a port that is none.
Result<HttpUrl> ParseHttpUrl(std::string_view url);

// `url` without user, password, query and fragment, safe to print. It need not be one.
std::string UrlForPeople(std::string_view url);

// Whether a host is this machine, by name or address.
bool IsLoopback(std::string_view host);

// Everything but letters, digits and "-._~" (and '/' where `keep_slash`) as %XX in upper case: the form that is signed.
std::string PercentEncode(std::string_view text, bool keep_slash);
// Undoes it, '+' as a space too, which is how stores encode keys in a listing. nullopt: a % without two hex digits.
std::optional<std::string> PercentDecode(std::string_view text, bool plus_is_space = true);

// "Fri, 24 May 2013 00:00:00 GMT" as seconds since 1970.
std::optional<int64_t> ParseHttpDate(std::string_view text);
// "2013-05-24T00:00:00.000Z" as seconds since 1970.
std::optional<int64_t> ParseIsoDate(std::string_view text);

// Decimal digits that fit, and nothing else.
std::optional<uint64_t> ParseNumber(std::string_view text);

// "bytes 0-9/100", or "bytes */100" (first > last then).
struct ContentRange {
  uint64_t first = 1, last = 0, size = 0;
};
std::optional<ContentRange> ParseContentRange(std::string_view text);

}  // namespace wdelta
