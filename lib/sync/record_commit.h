// The moment in which a pack becomes a record, and what may be added to a record later.
#pragma once

#include "local/pusher_state.h"
#include "sync/object_transfer.h"
#include "sync/remote_history.h"

namespace wdelta {

struct Committed {
  std::shared_ptr<const Record> record;
  uint64_t wire_bytes = 0;
  double upload_seconds = 0, commit_seconds = 0;
};
// Sends the objects, writes the record after `tip` (null: the first) with the labels of `spool`, and moves the hint.
// Nullopt: another push has written that record.
Result<std::optional<Committed>> CommitPack(RemoteHistory& history, const Record* tip, const ReadyPack& pack,
                                            const SpooledPush& spool, bool single_writer, unsigned jobs,
                                            const Context& context);

// Makes an anchor of an open checkpoint, which has the state of `record`, and announces it when all of it is in the
// store. The pack is written to `scratch` and removed again. Adds what was sent to `wire_bytes`; returns its size.
Result<uint64_t> AddAnchor(RemoteHistory& history, const Record& record, const Checkpoint& source,
                           const std::string& scratch, unsigned jobs, const Context& context, uint64_t* wire_bytes);

// Whether the store keeps an object that was created first, tried with an object of its own.
Result<bool> KeepsCreateIfAbsent(Remote& remote, const NoteSink& note);
// Whether the store replaces an object on condition of its etag, and does not if the etag is an earlier one, tried
// likewise. kRefused by a remote without etags.
Result<bool> KeepsConditionalReplace(Remote& remote, const NoteSink& note);

// kConflict if there is a tag of that name on another record and it is not to be moved.
Result<> WriteTag(Remote& remote, const std::string& name, const RecordEntry& entry, bool move);
// The same, and waits for every gc that has not seen the tag. False: the objects of the record itself are gone, and the
// tag is only a name.
Result<bool> TagAndKeep(Remote& remote, const std::string& name, const RecordEntry& entry, bool move,
                        const Context& context);

}  // namespace wdelta
