// A chain of deltas seen as the checkpoint that it leads to.
#pragma once

#include "walk/walk.h"

namespace wdelta {

// Opens the result of applying `deltas`, in this order, to `base`; `base` may be null if a delta is an anchor. Checks
// that each delta begins where the one before ended (kNotFound: a link is missing) and that headers and companions are
// all to be had. Wrong content of the base shows later, as kConflict from Load or in the result's digests.
//
// A block is found in one of three conditions: it is already what it shall become, it is what some delta of the chain
// begins with or leads to, or neither, which is a conflict. So a chain may be applied to a checkpoint that has some
// of it already, or half of it.
class ChainTarget : public Target {
 public:
  virtual const DeltaReader& first() const = 0;
  virtual const DeltaReader& last() const = 0;
};
Result<std::unique_ptr<ChainTarget>> OpenChain(const Checkpoint* base,
                                               std::vector<std::unique_ptr<DeltaReader>> deltas);

// Opens each path as a delta; at most one may be "-".
Result<std::vector<std::unique_ptr<DeltaReader>>> OpenDeltas(const std::vector<std::string>& paths, Trust trust,
                                                             const Context& context);

// Turns a conflict or a wrong result fingerprint into the message that people need: reads all of `base` to say who it
// is, who it should be, and which tensor differs first. Other errors come back as they are.
std::unique_ptr<Error> ExplainConflict(std::unique_ptr<Error> error, const Checkpoint* base, const ChainTarget& chain,
                                       const Context& context);

// kConflict unless the digests of a walk over the chain are those of the result that its last delta names.
Result<> ExpectResult(const WalkDigests& digests, const ChainTarget& chain);

}  // namespace wdelta
