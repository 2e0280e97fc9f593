#include "remote/ranged_answer.h"

#include <algorithm>

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
  if (const std::string* etag = answer.Header("etag")) piece.version = *etag;
  return piece;
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
