#include "remote/http_text.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include "core/text.h"

namespace wdelta {

namespace {

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

Error BadUrl(std::string_view why) {
  return Error{ErrorKind::kUsage, "not an http or https URL: " + std::string(why)};
}

bool IsHostName(std::string_view host) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    in6_addr address;
    return inet_pton(AF_INET6, std::string(host.substr(1, host.size() - 2)).c_str(), &address) == 1;
  }
  return !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), IsPlain);
}

// Digits at `at`, exactly `count` of them.
std::optional<int> Digits(std::string_view text, size_t at, size_t count) {
  int value = 0;
  for (size_t i = at; i < at + count; ++i) {
    if (i >= text.size() || text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

std::optional<int64_t> Seconds(std::optional<int> year, int month, std::optional<int> day, std::optional<int> hour,
                               std::optional<int> minute, std::optional<int> second) {
  if (!year || !day || !hour || !minute || !second) return std::nullopt;
  if (*year < 1970 || month < 1 || month > 12 || *day < 1 || *day > 31 || *hour > 23 || *minute > 59 || *second > 60)
    return std::nullopt;
  std::tm parts{};
  parts.tm_year = *year - 1900;
  parts.tm_mon = month - 1;
  parts.tm_mday = *day;
  parts.tm_hour = *hour;
  parts.tm_min = *minute;
  parts.tm_sec = *second;
  return timegm(&parts);
}

}  // namespace

std::string HttpUrl::Host() const {
  const unsigned usual = scheme == "https" ? 443 : 80;
  return port == 0 || port == usual ? host : host + ":" + std::to_string(port);
}

std::string HttpUrl::Origin() const {
  return scheme + "://" + Host();
}

Result<HttpUrl> ParseHttpUrl(std::string_view url) {
  if (url.size() > 8192) return BadUrl("longer than 8192 bytes");
  for (const char c : url) {
    if (c <= ' ' || c == 0x7f || c == '\\') return BadUrl("it holds white space, a backslash or a byte outside ASCII");
  }
  HttpUrl parts;
  const size_t colon = url.find("://");
  parts.scheme = Lower(url.substr(0, colon));
  if (colon == std::string_view::npos || (parts.scheme != "http" && parts.scheme != "https"))
    return BadUrl("it does not begin with http:// or https://");
  url.remove_prefix(colon + 3);
  url = url.substr(0, url.find('#'));
  std::string_view authority = url.substr(0, url.find_first_of("/?"));
  url.remove_prefix(authority.size());
  const size_t question = url.find('?');
  parts.path = url.substr(0, question);
  if (question != std::string_view::npos) parts.query = url.substr(question + 1);
  if (authority.find('@') != std::string_view::npos) return BadUrl("it holds a user or a password");
  const size_t bracket = authority.find(']');
  const size_t port_at = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  parts.host = Lower(authority.substr(0, port_at));
  if (!IsHostName(parts.host)) return BadUrl("its host is no name and no address");
  if (port_at != std::string_view::npos) {
    const std::optional<uint64_t> port = ParseNumber(authority.substr(port_at + 1));
    if (!port || *port == 0 || *port > 65535) return BadUrl("its port is not between 1 and 65535");
    parts.port = static_cast<unsigned>(*port);
  }
  return parts;
}

std::string UrlForPeople(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  const size_t scheme_end = url.find("://");
  const size_t begin = scheme_end == std::string_view::npos ? 0 : scheme_end + 3;
  const size_t at = url.substr(begin, url.find('/', begin) - begin).rfind('@');
  std::string shown(url.substr(0, begin));
  shown += at == std::string_view::npos ? url.substr(begin) : url.substr(begin + at + 1);
  return Shorten(TerminalText(shown));
}

bool IsLoopback(std::string_view host) {
  return host == "localhost" || host.ends_with(".localhost") || host == "[::1]" ||
         (host.starts_with("127.") &&
          std::all_of(host.begin(), host.end(), [](char c) { return c == '.' || (c >= '0' && c <= '9'); }));
}

std::string PercentEncode(std::string_view text, bool keep_slash) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (IsPlain(c) || (c == '/' && keep_slash)) {
      encoded.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded.push_back('%');
      encoded.push_back(kHex[byte >> 4]);
      encoded.push_back(kHex[byte & 15]);
    }
  }
  return encoded;
}

std::optional<std::string> PercentDecode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded.push_back(plus_is_space && text[i] == '+' ? ' ' : text[i]);
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const int high = HexDigit(text[i + 1]), low = HexDigit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return decoded;
}

std::optional<int64_t> ParseHttpDate(std::string_view text) {
  static constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                               "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != 29 || text.substr(3, 2) != ", " || text.substr(25) != " GMT") return std::nullopt;
  const auto month = std::find(kMonths.begin(), kMonths.end(), text.substr(8, 3));
  if (month == kMonths.end()) return std::nullopt;
  return Seconds(Digits(text, 12, 4), static_cast<int>(month - kMonths.begin()) + 1, Digits(text, 5, 2),
                 Digits(text, 17, 2), Digits(text, 20, 2), Digits(text, 23, 2));
}

std::optional<int64_t> ParseIsoDate(std::string_view text) {
  if (text.size() < 20 || text.back() != 'Z' || text[4] != '-' || text[7] != '-' || text[10] != 'T')
    return std::nullopt;
  const std::optional<int> month = Digits(text, 5, 2);
  if (!month) return std::nullopt;
  return Seconds(Digits(text, 0, 4), *month, Digits(text, 8, 2), Digits(text, 11, 2), Digits(text, 14, 2),
                 Digits(text, 17, 2));
}

std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<ContentRange> ParseContentRange(std::string_view text) {
  if (!Lower(text.substr(0, 6)).starts_with("bytes ")) return std::nullopt;
  text.remove_prefix(6);
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::optional<uint64_t> size = ParseNumber(text.substr(slash + 1));
  if (!size) return std::nullopt;
  ContentRange range;
  range.size = *size;
  const std::string_view span = text.substr(0, slash);
  if (span == "*") return range;
  const size_t dash = span.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::optional<uint64_t> first = ParseNumber(span.substr(0, dash)), last = ParseNumber(span.substr(dash + 1));
  if (!first || !last || *first > *last || *last >= *size) return std::nullopt;
  range.first = *first;
  range.last = *last;
  return range;
}

}  // namespace wdelta
