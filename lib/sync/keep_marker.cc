#include "sync/keep_marker.h"

#include <ctime>

#include "walk/rebuild.h"

namespace wdelta {

Result<std::optional<SglangMarker>> KeepMarker(Replica& replica, double lock_wait, const Context& context) {
  replica.SetMarked();
  if (replica.unfinished_is_current()) {  // ours to go on with
    WD_ASSIGN(SglangMarker marker, SglangMarker::Take(replica.PathOf(*replica.unfinished()), lock_wait, context.stop));
    return std::optional(std::move(marker));
  }
  if (!replica.current()) return std::optional<SglangMarker>();
  const ReplicaCopy current = *replica.current();
  const std::string path = replica.PathOf(current);
  WD_ASSIGN(SglangMarker marker, SglangMarker::Take(path, lock_wait, context.stop));
  WD_ASSIGN(const std::optional<uint64_t> version, marker.Read());
  if (version == current.number) return std::optional(std::move(marker));
  if (!version && !marker.was_there()) {
    WD_TRY(SglangMarker::Write(path, current.number, replica.durable()));
    return std::optional(std::move(marker));
  }
  WD_ASSIGN(const Checkpoint checkpoint, Checkpoint::Open(path, {{"*"}, {}}, context.note));
  WD_ASSIGN(const Proof proof, ProveCheckpoint(checkpoint, context));
  if (!version && proof.state() != current.state) {
    Error error{ErrorKind::kIntegrity, "'" + path + "' was left half changed by another program"};
    error.path = path;
    error.expected = Hex(current.state);
    error.found = Hex(proof.state());
    error.hint = "remove that folder and pull again";
    return error;
  }
  if (version) context.note("another program has brought '" + path + "' to version " + std::to_string(*version));
  const CopyLabel label{version.value_or(current.number), std::nullopt, static_cast<uint64_t>(std::time(nullptr))};
  WD_TRY(replica.Adopt(proof, label));
  return std::optional(std::move(marker));
}

}  // namespace wdelta
