// Which record is this folder? Told by digests: no weights travel.
#include "checkpoint/hex_identity.h"
#include "core/boundary.h"
#include "sync/session.h"
#include "sync/way_index.h"
#include "wdelta.h"

namespace wdelta {

Result<IdReport> Id(const IdRequest& request, const Context& context) {
  return Guarded([&]() -> Result<IdReport> {
    constexpr uint64_t kLookedAt = 16;  // records whose tensors are compared, when none is the one
    IdReport report;
    std::optional<Session> session;
    std::vector<RecordEntry> entries;
    FileChoice files = request.files;
    if (!request.remote.empty()) {
      WD_ASSIGN(Session opened, Session::Open(request.remote, request.transfer, context));
      session.emplace(std::move(opened));
      WD_ASSIGN(const uint64_t tip, session->history().FindExistingTip());
      WD_ASSIGN(entries, session->history().Entries(1, tip));
      WD_ASSIGN(files, ChoiceOf(session->remote(), entries.back(), files, context));
    }
    WD_ASSIGN(const Checkpoint checkpoint, Checkpoint::Open(request.checkpoint, files, context.note));
    WD_ASSIGN(const TensorList local, ListTensors(checkpoint, context));
    report.identity = HexIdentity(local.state);
    if (!session) return report;
    for (const RecordEntry& entry : entries) {  // the newest that fits, an exact one before all
      const bool same_layout = entry.state == local.state.state;
      if (!same_layout && (entry.fingerprint != local.state.fingerprint || report.same_layout)) continue;
      report.record = InfoOf(entry);
      report.same_layout = same_layout;
    }
    if (report.record) return report;
    for (size_t i = entries.size(); i > 0 && entries.size() - i < kLookedAt; --i) {
      Result<TensorList> theirs = ListTensors(session->remote(), entries[i - 1], local.names, context);
      const bool cannot_be_compared =
          !theirs.ok() && (theirs.error().kind == ErrorKind::kConflict || theirs.error().kind == ErrorKind::kNotFound);
      if (cannot_be_compared) continue;
      if (!theirs.ok()) return theirs.TakeError();
      const std::vector<TensorChange> differing = Differing(*theirs, local);
      if (report.nearest && differing.size() >= report.differing.size()) continue;
      report.nearest = InfoOf(entries[i - 1]);
      report.differing.clear();
      for (const TensorChange& tensor : differing) report.differing.push_back(tensor.name);
    }
    return report;
  });
}

}  // namespace wdelta
