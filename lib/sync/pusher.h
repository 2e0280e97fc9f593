// Pushing: a checkpoint or a pack becomes the next record of a history. The source is read once, into a spooled pack;
// everything after that works from the spool, and the next push finishes one that was cut off.
#pragma once

#include "sync/push_base.h"

namespace wdelta {

Result<PushReport> PushToHistory(Session& session, const PushOptions& options, const Context& context);

// Makes a pack the next record. `options.source` is how messages call it. Nothing is kept on this machine.
Result<PushReport> PushReadyPack(Session& session, const ReadyPack& pack, const PushOptions& options,
                                 const Context& context);

}  // namespace wdelta
