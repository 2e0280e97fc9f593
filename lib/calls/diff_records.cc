// What changed between records, or between a record and a checkpoint: by digests, without fetching weights, or in full,
// by rebuilding what is not here.
#include <set>

#include "core/boundary.h"
#include "core/file.h"
#include "sync/record_info.h"
#include "sync/session.h"
#include "sync/way_index.h"
#include "wdelta.h"

namespace wdelta {

namespace {

// ---- By digests ---------------------------------------------------------------------------------------------------

// A record's tensors: names, sorted, and the short digest of each.
struct RecordTensors {
  RecordInfo info;
  Sha256Digest state{};
  std::vector<std::string> names;
  std::vector<uint32_t> digests;
};

// Only an anchor names all tensors. The deltas after it name those that were added and removed, and their records say
// whether there are any.
Result<std::vector<std::string>> TensorNames(RemoteHistory& history, const RecordEntry& target,
                                             const Context& context) {
  WD_ASSIGN(const std::vector<AddedWay> added, history.ReadAddedWays());
  WD_ASSIGN(const std::vector<RecordEntry> entries, history.Entries(1, target.number));
  uint64_t at = target.number;
  std::optional<Way> anchor;
  for (; !anchor; --at) {
    const RecordEntry& entry = entries[at - 1];
    anchor = entry.anchor;
    for (const AddedWay& way : added) {
      if (way.number == at && way.way.anchor() && way.state == entry.state) anchor = way.way;
    }
    if (anchor) break;
  }
  WD_ASSIGN(const std::unique_ptr<DeltaReader> whole, OpenWayIndex(history.remote(), *anchor, context));
  std::set<std::string> names;
  for (const TensorRecord& tensor : whole->index().tensors) names.insert(tensor.name);
  for (++at; at <= target.number; ++at) {
    WD_ASSIGN(const auto record, history.Read(at));
    if (record->totals.tensors_added + record->totals.tensors_removed == 0) continue;
    WD_ASSIGN(const std::unique_ptr<DeltaReader> delta, OpenWayIndex(history.remote(), *record->entry.delta, context));
    for (const RemovedTensor& removed : delta->index().removed) names.erase(removed.name);
    for (const TensorRecord& tensor : delta->index().tensors) names.insert(tensor.name);
  }
  return std::vector<std::string>(names.begin(), names.end());
}

Result<RecordTensors> ReadTensors(const std::string& side, const TransferOptions& transfer, const Context& context) {
  WD_ASSIGN(Session session, Session::Open(side, transfer, context));
  WD_ASSIGN(const RecordEntry entry, session.Resolve());
  RecordTensors tensors;
  tensors.info = InfoOf(entry);
  tensors.state = entry.state;
  WD_ASSIGN(tensors.names, TensorNames(session.history(), entry, context));
  const std::vector<std::string_view> names(tensors.names.begin(), tensors.names.end());
  WD_ASSIGN(tensors.digests, TensorDigestsOf(session.remote(), entry, names, context));
  return tensors;
}

// ---- In full ------------------------------------------------------------------------------------------------------

class SideBuilder {
 public:
  SideBuilder(const DiffRecordsRequest& request, std::string folder, const Context& context, DiffRecordsReport& report)
      : request_(request), folder_(std::move(folder)), context_(context), report_(report) {}

  // The path of a checkpoint that is this side; a record is built from `other`, if that can be.
  Result<std::string> Build(const std::string& side, const std::string& other, std::optional<RecordInfo>& record) {
    if (!IsRemoteName(side)) return side;
    PullRequest pull;
    pull.remote = side;
    pull.folder = folder_ + "/" + std::to_string(++built_);
    pull.base = other;
    pull.transfer = request_.transfer;
    WD_TRY(CreateFolder(pull.folder));
    WD_ASSIGN(const PullReport pulled, Pull(pull, context_));
    record = pulled.record;
    report_.wire_bytes += pulled.wire_bytes;
    report_.retries += pulled.retries;
    return pulled.path;
  }

 private:
  const DiffRecordsRequest& request_;
  const std::string folder_;
  const Context& context_;
  DiffRecordsReport& report_;
  unsigned built_ = 0;
};

Result<CompareRecordsReport> DoCompareRecords(const CompareRecordsRequest& request, const Context& context) {
  WD_ASSIGN(const RecordTensors base, ReadTensors(request.base, request.transfer, context));
  WD_ASSIGN(const RecordTensors next, ReadTensors(request.next, request.transfer, context));
  CompareRecordsReport report;
  report.base = base.info;
  report.next = next.info;
  report.tensors_total = next.names.size();
  report.same = base.state == next.state;
  size_t old = 0;
  for (size_t i = 0; i < next.names.size(); ++i) {
    for (; old < base.names.size() && base.names[old] < next.names[i]; ++old) report.removed.push_back(base.names[old]);
    if (old == base.names.size() || base.names[old] != next.names[i]) {
      report.added.push_back(next.names[i]);
      continue;
    }
    if (base.digests[old++] != next.digests[i]) report.changed.push_back(next.names[i]);
  }
  report.removed.insert(report.removed.end(), base.names.begin() + static_cast<std::ptrdiff_t>(old), base.names.end());
  return report;
}

}  // namespace

Result<CompareRecordsReport> CompareRecords(const CompareRecordsRequest& request, const Context& context) {
  return Guarded(DoCompareRecords, request, context);
}

namespace {

Result<DiffRecordsReport> DoDiffRecords(const DiffRecordsRequest& request, const Context& context) {
  const std::string folder = TemporaryNameBeside((request.work.empty() ? "." : request.work) + "/diff");
  DiffRecordsReport report;
  const auto compare = [&]() -> Result<> {
    WD_TRY(CreateFolder(folder));
    SideBuilder sides(request, folder, context, report);
    DiffRequest diff = request.diff;
    const bool base_is_here = !IsRemoteName(diff.base);
    // What is here, or was built first, is what the other side is built from.
    const std::string here = base_is_here ? diff.base : IsRemoteName(diff.next) ? "" : diff.next;
    WD_ASSIGN(diff.base, sides.Build(diff.base, here, report.base));
    WD_ASSIGN(diff.next, sides.Build(diff.next, diff.base, report.next));
    WD_ASSIGN(report.diff, Diff(diff, context));
    return {};
  };
  Result<> compared = compare();
  RemoveTree(folder);
  if (!compared.ok()) return compared.TakeError();
  return report;
}

}  // namespace

Result<DiffRecordsReport> DiffRecords(const DiffRecordsRequest& request, const Context& context) {
  return Guarded(DoDiffRecords, request, context);
}

}  // namespace wdelta
