// Pulling from a store of versions (update_store.h): a folder follows the run of another system's trainer.
#pragma once

#include "history/revision.h"
#include "local/replica.h"
#include "remote/remote.h"
#include "wdelta.h"

namespace wdelta {

// Whether the folder follows such versions at this very remote already.
bool FollowsVersions(const Replica& replica, const Remote& remote);

// Pull(), where the remote holds versions; kNotFound if it holds nothing.
Result<PullReport> PullVersions(const PullRequest& request, const RemoteName& name, Remote& remote, Replica& replica,
                                const Context& context);

}  // namespace wdelta
