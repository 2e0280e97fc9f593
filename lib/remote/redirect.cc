#include "remote/redirect.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>

namespace wdelta {

namespace {

// An address of this machine, of its link, or of a private network: nothing that a stranger should send us to. Forms
// of IPv4 that only old parsers take ("0x7f.1", "2130706433") count as such, whatever they mean.
bool IsPrivate(std::string_view host) {
  if (IsLoopback(host)) return true;
  if (host.front() == '[') {
    in6_addr address;
    if (inet_pton(AF_INET6, std::string(host.substr(1, host.size() - 2)).c_str(), &address) != 1) return true;
    const uint8_t* bytes = address.s6_addr;
    const bool is_global = (bytes[0] & 0xe0) == 0x20;  // 2000::/3 is all there is of the public Internet
    return !is_global;
  }
  const std::string_view last = host.substr(host.find_last_of('.') + 1);
  if (last.empty() || !std::isdigit(static_cast<unsigned char>(last.front()))) return false;  // a name
  in_addr address;
  if (inet_pton(AF_INET, std::string(host).c_str(), &address) != 1) return true;
  const uint32_t ip = ntohl(address.s_addr);
  return ip >> 24 == 0 || ip >> 24 == 10 || ip >> 24 == 127 || ip >> 16 == 0xa9fe || ip >> 20 == 0xac1 ||
         ip >> 16 == 0xc0a8 || ip >> 22 == (0x64400000u >> 22) || ip >> 28 >= 0xe;
}

}  // namespace

Result<HttpUrl> ResolveRedirect(const HttpUrl& from, std::string_view location) {
  std::string absolute(location);
  if (location.starts_with("//")) {
    absolute = from.scheme + ":" + absolute;
  } else if (location.starts_with("/")) {
    absolute = from.Origin() + absolute;
  } else if (location.substr(0, location.find_first_of("/?#")).find(':') == std::string_view::npos) {
    absolute = from.Origin() + from.path.substr(0, from.path.rfind('/') + 1) + absolute;
  }
  Result<HttpUrl> to = ParseHttpUrl(absolute);
  if (!to.ok()) return Error{ErrorKind::kRefused, "'" + from.Origin() + "' redirects to what is " + to.error().message};
  if (from.scheme == "https" && to->scheme != "https")
    return Error{ErrorKind::kRefused, "'" + from.Origin() + "' redirects from https to http"};
  if (IsPrivate(to->host) && !IsPrivate(from.host))
    return Error{ErrorKind::kRefused,
                 "'" + from.Origin() + "' redirects into a private network, to '" + to->host + "'"};
  return to;
}

Result<HttpAnswer> Follow(HttpClient& client, HttpRequest request, HttpAnswer answer) {
  WD_ASSIGN(HttpUrl at, ParseHttpUrl(request.url));
  const std::string first_origin = at.Origin();
  for (int hop = 0;; ++hop) {
    const bool redirects = answer.status == 301 || answer.status == 302 || answer.status == 303 ||
                           answer.status == 307 || answer.status == 308;
    const std::string* location = answer.Header("location");
    if (!redirects || !location) return answer;
    if (hop == 5) return Error{ErrorKind::kRefused, "'" + first_origin + "' redirects more than 5 times"};
    WD_ASSIGN(at, ResolveRedirect(at, *location));
    request.url = at.Origin() + (at.path.empty() ? "/" : at.path) + (at.query.empty() ? "" : "?" + at.query);
    std::erase_if(request.headers, [](const auto& header) { return header.first != "Range"; });
    WD_ASSIGN(answer, client.Send(request));
  }
}

}  // namespace wdelta
