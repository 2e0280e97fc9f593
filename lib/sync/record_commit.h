// The moment in which a pack becomes a record, and what may be added to a record later.
#pragma once

#include "pack/container.h"
#include "wdelta.h"
#include "sync/object_transfer.h"
#include "sync/remote_history.h"

namespace wdelta {

// A pack that is ready to be sent, and what it says of itself.
struct ReadyPack {
  std::string path;
  bool anchor = false;
  StateDigests base, result;
  Totals totals;
};
Result<ReadyPack> InspectPack(const std::string& path, Trust trust, const Context& context);

// What a push says about the record that it makes.
struct RecordLabels {
  std::string writer;  // an id that no other push has
  std::optional<uint64_t> step;
};

struct Committed {
  std::shared_ptr<const Record> record;
  uint64_t wire_bytes = 0;
  double upload_seconds = 0, commit_seconds = 0;
};
// Sends the objects, writes the record after `tip` (null: the first), and moves the hint. Nullopt: somebody else has
// written that record.
Result<std::optional<Committed>> CommitPack(RemoteHistory& history, const Record* tip, const ReadyPack& pack,
                                            const RecordLabels& labels, bool single_writer, unsigned jobs,
                                            const Context& context);

// Makes an anchor of the checkpoint at `source`, which is in the state of `record`, and announces it when all of it is
// there. The pack is made at `scratch` and removed again. Adds what was sent to `wire_bytes`; returns its size.
Result<uint64_t> AddAnchor(RemoteHistory& history, const Record& record, const PackRequest& source, unsigned jobs,
                           const Context& context, uint64_t* wire_bytes);

// Whether the store keeps what was there first, tried with an object of its own.
Result<bool> KeepsCreateIfAbsent(Remote& remote, const NoteSink& note);
// Whether the store replaces an object on condition of its version, and does not when the version is an earlier one,
// tried likewise. kRefused by a remote that has no versions.
Result<bool> KeepsConditionalReplace(Remote& remote, const NoteSink& note);

// kConflict if there is a tag of that name on another record and it is not to be moved.
Result<> WriteTag(Remote& remote, const std::string& name, const RecordEntry& entry, bool move);

}  // namespace wdelta
