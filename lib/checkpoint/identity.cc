#include "checkpoint/identity.h"

namespace wdelta {

TensorHasher::TensorHasher(std::string_view name, Dtype dtype, std::span<const uint64_t> shape) {
  ByteWriter head;
  head.Text("wdelta tensor 1");
  head.Text(name);
  head.Text(DtypeName(dtype));
  head.Varint(shape.size());
  for (const uint64_t dimension : shape) head.Varint(dimension);
  sha256_.Update(head.bytes());
}

Sha256Digest Fingerprint(std::span<const TensorDigest> tensors_by_name) {
  ByteWriter head;
  head.Text("wdelta fingerprint 1");
  head.Varint(tensors_by_name.size());
  Sha256 sha256;
  sha256.Update(head.bytes());
  for (const TensorDigest& digest : tensors_by_name) sha256.Update(digest);
  return sha256.Finish();
}

StateDigests CombineState(const Sha256Digest& fingerprint, const Sha256Digest& layout) {
  ByteWriter text;
  text.Text("wdelta state 1");
  text.Raw(fingerprint);
  text.Raw(layout);
  return {fingerprint, layout, DigestSha256(text.bytes())};
}

}  // namespace wdelta
