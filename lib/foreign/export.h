// The way out into the format of another system.
#pragma once

#include "foreign/foreign_writer.h"
#include "walk/chain.h"
#include "walk/difference.h"
#include "wdelta.h"

namespace wdelta {

// A writer for request.format, or null for our own formats. kUsage for choices that do not go together.
Result<std::unique_ptr<ForeignWriter>> ForeignWriterFor(const PackRequest& request);

// Writes what changed between `base` and `side`. Whatever the format cannot say is refused before anything is written:
// tensors that came, went or have another form. `chain`: the side is one, and has to lead where it says; else null.
// Files beside the weights have no place in any of them: a note tells.
Result<PackReport> ExportDelta(const Checkpoint& base, const Target& side, const PackRequest& request,
                               ForeignWriter& writer, const ChainTarget* chain, const Context& context);

}  // namespace wdelta
