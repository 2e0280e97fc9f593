// The versions of a run of another system (version_store.h) as what a folder follows. Only its number identifies a
// version, so a copy counts as a version as long as the store goes on with the run that the copy was pulled from.
//
// A delta proves by its checksums what it changes. A whole version is proved only where SHA256SUMS lies beside it.
#pragma once

#include "canonical/version_store.h"
#include "sync/lineage.h"

namespace wdelta {

// Versions are fetched into folders below `folder`, with `jobs` transfers at a time (0: as it suits).
std::unique_ptr<Lineage> VersionsAsLineage(Remote& remote, const std::string& folder, unsigned jobs,
                                           const Context& context);

// Whether what a replica remembers is such a run, at this very remote.
bool FollowsVersions(const SeenRecord& seen, const Remote& remote);

}  // namespace wdelta
