// Foreign deltas on their way in: each becomes a pack in a file without a name, against the base that is at hand. On
// that way its checksums are proved, and everything that can be wrong with it is found before anybody writes;
// afterwards it has states, fingerprints and block digests like any other pack.
#pragma once

#include "chain.h"

namespace wdelta {

// A checkpoint, and deltas that lead on from it.
struct DeltasOnBase {
  std::unique_ptr<Checkpoint> base;
  std::vector<std::unique_ptr<DeltaReader>> deltas;
  uint64_t bytes = 0;  // of the deltas as they were given
};

// Opens deltas of any format, in this order, for the checkpoint `base`. Packs and plain deltas stay what they are; a
// foreign delta, with all before it, becomes one pack. One without checksums is told to context.note.
Result<DeltasOnBase> OpenOnBase(const std::string& base, const std::vector<std::string>& paths, Trust trust,
                                const Context& context);

}  // namespace wdelta
