// A chain of deltas seen as the checkpoint that it leads to.
#pragma once

#include "walk/walk.h"

namespace wdelta {

// Opens the result of applying `deltas`, in this order, to `before`, which may be null if a delta is an anchor. Checks
// that each delta begins where the one before it ends (kNotFound: a delta is missing) and that headers and companions
// are all there. Wrong content below shows later, as kConflict from Load or in the digests of the result.
//
// A block is found in one of three conditions: it is already what it shall become, it is what some delta of the chain
// begins with or leads to, or neither, which is a conflict. So a chain may be applied to a checkpoint that has some
// of it already, or half of it.
class ChainTarget : public Target {
 public:
  virtual const DeltaReader& first() const = 0;
  virtual const DeltaReader& last() const = 0;
};
Result<std::unique_ptr<ChainTarget>> OpenChain(std::unique_ptr<Target> before,
                                               std::vector<std::unique_ptr<DeltaReader>> deltas);

// The same on the checkpoint at `base`; where the first pack is an anchor, `base` may be empty. Without packs the
// target is the base itself. The last pack says which files belong to the base; without packs `files` does.
Result<OpenedTarget> OpenPacks(const std::string& base, const std::vector<std::string>& packs, const FileChoice& files,
                               Trust trust, const Context& context);

// A target that is the checkpoint at `base` itself. The last of `deltas`, if there is one, says which files belong to
// it; else `files` does.
Result<OpenedTarget> OpenBase(const std::string& base, const std::vector<std::unique_ptr<DeltaReader>>& deltas,
                              FileChoice files, const Context& context);

// Opens each path as a delta; at most one may be "-".
Result<std::vector<std::unique_ptr<DeltaReader>>> OpenDeltas(const std::vector<std::string>& paths, Trust trust,
                                                             const Context& context);

// Turns a conflict into the message that people need: reads all of `base` to say which checkpoint it is, which one
// `delta` was made for, and which tensor differs first. Other errors come back as they are.
std::unique_ptr<Error> ExplainConflict(std::unique_ptr<Error> error, const Checkpoint& base, const DeltaReader& delta,
                                       const Context& context);

}  // namespace wdelta
