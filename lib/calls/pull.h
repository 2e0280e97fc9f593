// Following a remote, for the calls that bring a record here.
#pragma once

#include "sync/follower.h"
#include "sync/session.h"

namespace wdelta {

// What a pull does with a session and a replica that are open, but for markers and hooks.
Result<FollowReport> Follow(const FollowOptions& options, Session& session, Replica& replica, const Context& context);

// The record that the replica is at then.
RecordInfo InfoOf(const FollowReport& followed);

}  // namespace wdelta
