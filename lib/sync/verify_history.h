// Verifying a whole history: every record, every object, and the checkpoint that they lead to.
#pragma once

#include "sync/session.h"

namespace wdelta {

// Fetches every object once, and rebuilds the record that the session names, keeping nothing. The packs that rebuild it
// are fetched into a temporary folder and read there again; all others are hashed as they arrive, and dropped. With
// `quick` it only looks whether the objects are there. Objects that gc removed are no fault as long as the record can
// be rebuilt without them.
Result<VerifyRemoteReport> VerifyHistory(Session& session, bool quick, const Context& context);

}  // namespace wdelta
