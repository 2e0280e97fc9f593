// Following a redirect: where it may lead, and what goes along.
#pragma once

#include <string_view>

#include "remote/http_client.h"
#include "remote/http_text.h"

namespace wdelta {

// Where a redirect leads: `location` is absolute, or relative to `from`. kRefused if it leads from https to http, to
// another scheme, or from a public place to an address of this machine or its private network.
Result<HttpUrl> ResolveRedirect(const HttpUrl& from, std::string_view location);

// Where `answer` to `request` redirects: the answer there, after as many as five redirects. Of the headers only Range
// goes along. Any other answer comes back as it is.
Result<HttpAnswer> Follow(HttpClient& client, HttpRequest request, HttpAnswer answer);

}  // namespace wdelta
