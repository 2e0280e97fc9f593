// What the answer to a request about an object means, for every store that speaks HTTP: checked against what was asked,
// so that bytes from elsewhere are never taken for those.
#pragma once

#include <string>

#include "remote/http_client.h"

namespace wdelta {

// "bytes=0-9" for the first ten; `length` is not 0, and the end fits 64 bits.
std::string RangeHeader(uint64_t offset, uint64_t length);

// The piece in an answer 206, or 200 by a server that ignores ranges (HttpRequest::keep has cut it out then). Fewer
// bytes than there must be are kTransient. `name` is for people.
Result<ObjectPiece> PieceOf(HttpAnswer answer, uint64_t offset, uint64_t length, const std::string& name);

// How many seconds a server that is busy (429, 503) asks to be left alone, by Retry-After; 0: it does not say.
double AskedPause(const HttpAnswer& answer);

// Size and time in an answer to HEAD; the key is left empty.
Result<ObjectInfo> InfoOf(const HttpAnswer& answer, const std::string& name);

}  // namespace wdelta
