// What calls take of each other. No call uses a public one: those are for programs that link the library.
#pragma once

#include "sync/follower.h"
#include "sync/session.h"
#include "wdelta.h"

namespace wdelta {

// What a pull does with a session and a replica that are open, but for markers and hooks.
Result<FollowReport> Follow(const FollowOptions& options, Session& session, Replica& replica, const Context& context);

// The record that the replica is at then.
RecordInfo InfoOf(const FollowReport& followed);

// The records of a range, newest first, with their tags.
Result<std::vector<RecordInfo>> ReadLog(const LogRequest& request, const Context& context);

// What the index of a pack or a plain delta says.
Result<CatReport> ReadIndex(const std::string& path, const Context& context);

}  // namespace wdelta
