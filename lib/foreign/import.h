// Foreign deltas on their way in: they become a pack in a file without a name, against the base that is at hand. On
// that way their checksums are proved, and everything that can be wrong with them is found before anybody writes;
// afterwards there are states, fingerprints and block digests as in any other pack.
#pragma once

#include "core/file.h"
#include "walk/chain.h"

namespace wdelta {

// So many are turned in one walk, because each needs open files, and buffers for the tensor that is being turned. As
// many are recognised when the base has them already.
inline constexpr size_t kMostAtOnce = 16;

// A checkpoint, and deltas that lead on from it.
struct DeltasOnBase {
  std::unique_ptr<Checkpoint> base;
  std::vector<std::unique_ptr<DeltaReader>> deltas;
  std::optional<File> imported;  // the pack that foreign deltas became, with all before them
  uint64_t bytes = 0;            // of the deltas as they were given
};

// Opens deltas of any format, in this order, for the checkpoint `base`. Packs and plain deltas stay what they are;
// foreign deltas, with all before them, become one pack. One without checksums is told to context.note.
Result<DeltasOnBase> OpenOnBase(const std::string& base, const std::vector<std::string>& paths, Trust trust,
                                const Context& context);

}  // namespace wdelta
