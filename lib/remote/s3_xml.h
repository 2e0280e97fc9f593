// The XML that S3 answers with, as little of it as is needed. No document types, no entities but the five and numbers,
// at most 8 levels, 100,000 elements and 16 MiB: what is more is refused, not understood.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.h"
#include "remote/remote.h"

namespace wdelta {

// An element that has ended: where it stood, and the text in it. Elements come in the order of their ends, so that one
// that holds others comes after them.
struct XmlElement {
  std::string path;  // names from the outermost on, "ListBucketResult/Contents/Key"; prefixes of namespaces left out
  std::string text;
};

// Every answer goes through this one. kIntegrity for anything but a well-formed document within the limits.
Result<std::vector<XmlElement>> ReadXml(ByteSpan document);

struct S3Listing {
  std::vector<ObjectInfo> objects;  // keys decoded, in the order of the answer
  bool more = false;
};
Result<S3Listing> ReadS3Listing(ByteSpan document);

// The text of the element at `path`, or kIntegrity: "InitiateMultipartUploadResult/UploadId".
Result<std::string> ReadS3Text(ByteSpan document, std::string_view path);

struct S3Error {
  std::string code, message, region;
};
// nullopt: not an error document (an answer may have any status and still be none, and the other way round).
std::optional<S3Error> ReadS3Error(ByteSpan document);

// `text` with the characters escaped that mean something in XML.
std::string XmlEscape(std::string_view text);

}  // namespace wdelta
