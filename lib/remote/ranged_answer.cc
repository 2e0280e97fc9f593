#include "remote/ranged_answer.h"

#include <algorithm>
#include <ctime>

#include "remote/http_text.h"

namespace wdelta {

std::string RangeHeader(uint64_t offset, uint64_t length) {
  return "bytes=" + std::to_string(offset) + "-" + std::to_string(offset + length - 1);
}

Result<ObjectPiece> PieceOf(HttpAnswer answer, uint64_t offset, uint64_t length, const std::string& name) {
  ObjectPiece piece;
  if (answer.status == 206) {
    const std::string* header = answer.Header("content-range");
    const std::optional<ContentRange> range = header ? ParseContentRange(*header) : std::nullopt;
    if (!range || range->first != offset || range->last < range->first)
      return Error{ErrorKind::kTransient, "'" + name + "': asked for bytes from " + std::to_string(offset) +
                                              " on, answered with another range"};
    piece.size = range->size;
  } else {
    const std::string* header = answer.Header("content-length");
    const std::optional<uint64_t> size = header ? ParseNumber(*header) : std::nullopt;
    if (!size) return Error{ErrorKind::kTransient, "'" + name + "': the answer does not say how long the object is"};
    piece.size = *size;
  }
  const uint64_t expected = offset < piece.size ? std::min(length, piece.size - offset) : 0;
  if (answer.body.size() != expected)
    return Error{ErrorKind::kTransient, "'" + name + "': expected " + std::to_string(expected) +
                                            " bytes in an answer, found " + std::to_string(answer.body.size())};
  piece.bytes = std::move(answer.body);
  if (const std::string* etag = answer.Header("etag")) piece.etag = *etag;
  return piece;
}

double AskedPause(const HttpAnswer& answer) {
  const std::string* asked = answer.status == 429 || answer.status == 503 ? answer.Header("retry-after") : nullptr;
  if (!asked) return 0;
  if (const std::optional<uint64_t> seconds = ParseNumber(*asked)) return static_cast<double>(*seconds);
  // Or a date, which is meant by the clock of whoever says it.
  const std::optional<int64_t> until = ParseHttpDate(*asked);
  const std::string* date = answer.Header("date");
  const int64_t now = (date ? ParseHttpDate(*date) : std::nullopt).value_or(std::time(nullptr));
  return until ? static_cast<double>(std::max<int64_t>(*until - now, 0)) : 0;
}

Result<ObjectInfo> InfoOf(const HttpAnswer& answer, const std::string& name) {
  const std::string* length = answer.Header("content-length");
  const std::optional<uint64_t> size = length ? ParseNumber(*length) : std::nullopt;
  if (!size) return Error{ErrorKind::kTransient, "'" + name + "': the answer does not say how long the object is"};
  ObjectInfo info;
  info.size = *size;
  if (const std::string* modified = answer.Header("last-modified"))
    info.modified = ParseHttpDate(*modified).value_or(0);
  return info;
}

}  // namespace wdelta
