// Names that keep records alive.
#pragma once

#include "sync/remote_history.h"
#include "wdelta.h"

namespace wdelta {

// Writes the tag, and waits for every gc that has not seen it. False: the objects of the record itself are gone, and
// the tag is only a name.
Result<bool> TagAndKeep(Remote& remote, const std::string& name, const RecordEntry& entry, bool force,
                        const Context& context);

}  // namespace wdelta
