// Any bytes as an XML answer of S3: within the limits or refused, and all its readers agree on what it says.
#include <cstdlib>

#include "remote/s3_xml.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const wdelta::ByteSpan bytes(data, size);
  const auto elements = wdelta::ReadXml(bytes);
  const auto listing = wdelta::ReadS3Listing(bytes);
  const auto error = wdelta::ReadS3Error(bytes);
  if (!elements.ok()) {
    if (elements.error().kind != wdelta::ErrorKind::kIntegrity || listing.ok() || error) std::abort();
    return 0;
  }
  if (elements->empty() || elements->size() > 100000) std::abort();
  const std::string& outermost = elements->back().path;
  size_t contents = 0;
  for (const wdelta::XmlElement& element : *elements) {
    // Every element stands in the one that ends last, and its text and name come from the document.
    if (element.path != outermost && !element.path.starts_with(outermost + "/")) std::abort();
    if (element.text.size() > size || element.path.size() > size * 8) std::abort();
    contents += element.path == "ListBucketResult/Contents";
    if (wdelta::ReadS3Text(bytes, element.path).ok() == false && elements->size() < 50) std::abort();
  }
  if (listing.ok() && listing->objects.size() != contents) std::abort();
  return 0;
}
