// The way out into the format of another system.
#pragma once

#include "foreign/foreign_writer.h"
#include "walk/difference.h"

namespace wdelta {

struct Exported {
  Totals totals;
  StateDigests base, result;
  uint64_t bytes = 0;
};

// Writes what changed between `base` and `target`. Whatever the format (its name is for messages) cannot say is refused
// before anything is written: tensors that were added, removed, reshaped or retyped. Files beside the weights have no
// place in any of them, which a note says.
Result<Exported> ExportDelta(const Checkpoint& base, Target& target, const std::string& format, ForeignWriter& writer,
                             const Context& context);

}  // namespace wdelta
