// What to say when a base is not the one that a delta was made for.
#include <algorithm>

#include "walk/chain.h"

namespace wdelta {

std::unique_ptr<Error> ExplainConflict(std::unique_ptr<Error> error, const Checkpoint& base, const DeltaReader& delta,
                                       const Context& context) {
  const DeltaIndex& index = delta.index();
  if (error->kind != ErrorKind::kConflict || index.anchor) return error;
  auto digests = DigestTensors(base, base.tensors(), context);
  if (!digests.ok()) return digests.TakeError();
  if (auto unchanged = base.CheckUnchanged(); !unchanged.ok()) return unchanged.TakeError();
  const Sha256Digest found = Fingerprint(*digests);
  if (found == index.base.fingerprint) {
    // The base is right after all, so the delta contradicts itself.
    error->kind = ErrorKind::kIntegrity;
    return error;
  }
  // The short digests stand in the name order of the right base; a base with other tensors shows by the count.
  std::string difference =
      std::to_string(base.tensors().size()) + " tensors, not " + std::to_string(index.base_tensors.size());
  if (base.tensors().size() == index.base_tensors.size()) {
    for (size_t i = 0; i < index.base_tensors.size(); ++i) {
      if (ShortTensorDigest((*digests)[i]) == index.base_tensors[i]) continue;
      error->tensor = base.tensors()[i].name;
      difference = "first difference: " + error->tensor;
      break;
    }
  }
  error->expected = Hex(index.base.fingerprint);
  error->found = Hex(found);
  error->path = base.path();
  error->message = "cannot apply '" + delta.path() + "': made for base " + error->expected.substr(0, 12) + ", '" +
                   base.path() + "' is " + error->found.substr(0, 12) + " (" + difference + ")";
  error->hint = "'wdelta cat " + delta.path() + "' shows what it was made for";
  return error;
}

}  // namespace wdelta
