// Stats: how sparse is an update, where do its changes sit, what does it cost to send?
#include <algorithm>

#include "calls/inner.h"
#include "checkpoint/hex_identity.h"
#include "core/boundary.h"
#include "foreign/foreign.h"
#include "foreign/foreign_target.h"
#include "stats/encodings.h"
#include "stats/findings.h"
#include "stats/tally_walk.h"
#include "walk/difference.h"

namespace wdelta {

namespace {

constexpr size_t kMovers = 10;

// The rows from the first exponent that occurs to the last.
std::vector<ExponentTable> ExponentTables(const TallyTotals& totals) {
  std::vector<ExponentTable> tables;
  for (size_t i = 0; i < totals.exponents.size(); ++i) {
    const auto& [elements, changed] = totals.exponents[i];
    if (elements.empty()) continue;
    const FloatForm form = *FloatFormOf(static_cast<Dtype>(i));
    ExponentTable table;
    table.dtype = DtypeName(static_cast<Dtype>(i));
    const size_t end = elements.size() - (form.special == FloatForm::Special::kIeee ? 1 : 0);
    table.tiny = {1 - form.bias, elements[0], changed[0]};
    if (end < elements.size()) table.special = {static_cast<int>(end) - form.bias, elements[end], changed[end]};
    for (size_t field = 1; field < end; ++field) {
      if (elements[field] == 0 && table.rows.empty()) continue;
      table.rows.push_back({static_cast<int>(field) - form.bias, elements[field], changed[field]});
    }
    while (!table.rows.empty() && table.rows.back().elements == 0) table.rows.pop_back();
    tables.push_back(std::move(table));
  }
  return tables;
}

std::vector<StepRow> StepRows(const TallyTotals& totals) {
  std::vector<StepRow> rows;
  const auto& [up, down] = totals.steps;
  for (size_t i = 0; i < up.size(); ++i) {
    const uint64_t most = i >= 64 ? UINT64_MAX : uint64_t{1} << i;
    rows.push_back({i == 0 ? 1 : (uint64_t{1} << (i - 1)) + 1, most, down[i], up[i]});
  }
  while (!rows.empty() && rows.back().down + rows.back().up == 0) rows.pop_back();
  return rows;
}

TensorTally ReportedTally(const Tensor& tensor, const BlockTally& counted, bool has_old) {
  TensorTally tally;
  static_cast<NumberTally&>(tally) = counted;
  tally.rows_total = tensor.units() / RowUnits(tensor);
  tally.rows_touched = has_old ? counted.rows.count : tally.rows_total;
  if (const uint64_t slice = ExpertUnits(tensor)) {
    tally.expert_touched.assign(tensor.units() / slice, !has_old);
    for (const uint32_t expert : counted.slices) tally.expert_touched[expert] = true;
  }
  return tally;
}

std::vector<size_t> LargestMovers(const std::vector<TensorStats>& tensors) {
  std::vector<size_t> movers;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].tally && tensors[i].tally->largest_change > 0) movers.push_back(i);
  }
  std::ranges::stable_sort(movers, std::greater{}, [&](size_t at) { return tensors[at].tally->largest_change; });
  movers.resize(std::min(movers.size(), kMovers));
  return movers;
}

// What a walk over both sides found, as the report tells it.
void FillFromWalk(const Checkpoint* base, const Target& target, const WalkTally& walked, StatsReport& report) {
  Difference difference = Summarize(base, target, walked.units_changed());
  report.totals = difference.totals;
  report.files = std::move(difference.files);
  for (TensorChange& change : difference.tensors) {
    TensorStats stats{std::move(change), {}, std::nullopt};
    if (const Tensor* tensor = FindTensor(target.tensors(), stats.name)) {
      const auto at = static_cast<size_t>(tensor - target.tensors().data());
      const bool has_old = stats.kind == ChangeKind::kSame || stats.kind == ChangeKind::kChanged;
      stats.tally = ReportedTally(*tensor, walked.tensors[at], has_old);
      report.nan += stats.tally->nan;
      report.inf += stats.tally->inf;
      report.base_nan += stats.tally->base_nan;
      report.base_inf += stats.tally->base_inf;
    }
    report.tensors.push_back(std::move(stats));
  }
  report.exponents = ExponentTables(walked.totals);
  report.steps = StepRows(walked.totals);
  report.movers = LargestMovers(report.tensors);
}

Result<> FillFromPair(const StatsRequest& request, const Context& context, StatsReport& report) {
  report.subject = StatsSubject::kCheckpoints;
  WD_ASSIGN(const Checkpoint base, Checkpoint::Open(request.subjects[0], request.files, context.note));
  WD_ASSIGN(const Checkpoint next, Checkpoint::Open(request.subjects[1], request.files, context.note));
  WD_ASSIGN(const WalkTally walked, TallyPair(base, next, context));
  const auto target = PairTarget(&base, next);
  FillFromWalk(&base, *target, walked, report);
  PackSizes packs;
  if (request.encodings) {
    WD_ASSIGN(EncodingSizes sizes, MeasureEncodings(&base, *target, context));
    report.encodings = std::move(sizes.rows);
    report.delta_bytes = sizes.packs.bytes[1];
    packs = std::move(sizes.packs);
  } else if (request.delta_size) {
    WD_ASSIGN(packs, MeasurePacks(&base, *target, {Level::kDefault}, context));
    report.delta_bytes = packs.bytes[0];
  }
  report.base = HexIdentity(packs.base);
  report.result = HexIdentity(packs.result);
  return {};
}

// From the index alone.
Result<> FillFromIndex(const StatsRequest& request, const Context& context, StatsReport& report) {
  report.subject = StatsSubject::kDelta;
  WD_ASSIGN(CatReport index, ReadIndex(request.subjects[0], context));
  report.totals = index.totals;
  report.base = index.base;
  report.result = index.result;
  report.delta_bytes = index.bytes;
  report.files = std::move(index.files);
  for (TensorChange& change : index.tensors) report.tensors.push_back({std::move(change), {}, std::nullopt});
  return {};
}

Result<> FillFromDeltaAndBase(const StatsRequest& request, const Context& context, StatsReport& report) {
  report.subject = StatsSubject::kDeltaAndBase;
  WD_ASSIGN(const OpenedTarget opened,
            OpenTarget(request.base, request.subjects, request.files, Trust::kWhole, context));
  const Checkpoint* base = opened.base.get();
  Target& target = *opened.target;
  report.delta_bytes = opened.delta_bytes;
  WD_ASSIGN(const WalkTally walked, TallyTarget(target, context));
  FillFromWalk(base, target, walked, report);
  StateDigests base_state;
  if (target.base()) {
    base_state = *target.base();
  } else if (base) {
    WD_ASSIGN(const std::vector<TensorDigest> digests, DigestBase(*base, target, walked.digests, context));
    base_state = CombineState(Fingerprint(digests), base->layout().Digest());
  }
  const bool is_anchor = base_state == StateDigests{};
  if (!is_anchor && target.totals() && report.totals.elements_changed != target.totals()->elements_changed) {
    Error error{ErrorKind::kConflict, "'" + request.base + "' is not the base of '" + request.subjects[0] +
                                          "': it has some or all of its changes already"};
    error.path = request.base;
    error.hint = "give the checkpoint that the delta was made from as '--base'";
    return error;
  }
  report.base = HexIdentity(base_state);
  report.result = HexIdentity(CombineState(Fingerprint(walked.digests.result), target.layout().Digest()));
  if (request.encodings) {
    WD_ASSIGN(EncodingSizes sizes, MeasureEncodings(base, target, context));
    report.encodings = std::move(sizes.rows);
  }
  return {};
}

void AddRecord(const std::string& name, const RecordInfo& info, StatsReport& report) {
  report.records.push_back({name, info});
  if (!info.delta_bytes) return;  // a whole model is no update
  report.totals.elements_total += info.totals.elements_total;
  report.totals.elements_changed += info.totals.elements_changed;
  report.totals.bytes_total += info.totals.bytes_total;
  report.delta_bytes = report.delta_bytes.value_or(0) + *info.delta_bytes;
}

Result<> FillFromDeltas(const StatsRequest& request, const Context& context, StatsReport& report) {
  report.subject = StatsSubject::kDeltas;
  for (const std::string& path : request.subjects) {
    WD_ASSIGN(const CatReport index, ReadIndex(path, context));
    RecordInfo info;
    info.number = report.records.size() + 1;
    info.state = index.result.state;
    info.fingerprint = index.result.fingerprint;
    info.totals = index.totals;
    (index.base.state.empty() ? info.anchor_bytes : info.delta_bytes) = index.bytes;
    AddRecord(path, info, report);
  }
  return {};
}

Result<> FillFromHistory(const StatsRequest& request, const Context& context, StatsReport& report) {
  report.subject = StatsSubject::kHistory;
  WD_ASSIGN(const std::vector<RecordInfo> infos, ReadLog({request.subjects[0], 0, request.transfer}, context));
  std::for_each(infos.rbegin(), infos.rend(),
                [&](const RecordInfo& info) { AddRecord(std::to_string(info.number), info, report); });
  return {};
}

// What the words of the request name, and so how to find out.
using Fill = Result<> (*)(const StatsRequest&, const Context&, StatsReport&);
Result<Fill> ChooseFill(const StatsRequest& request) {
  const std::vector<std::string>& subjects = request.subjects;
  size_t remotes = 0, deltas = 0;
  for (const std::string& subject : subjects) {
    if (IsRemoteName(subject)) {
      ++remotes;
      continue;
    }
    WD_ASSIGN(const bool is_delta, LooksLikeAnyDelta(subject));
    deltas += is_delta;
  }
  const std::string see = "'wdelta help stats' shows what can be given";
  const size_t count = subjects.size();
  Fill fill = nullptr;
  if (count == 1 && remotes == 1) fill = FillFromHistory;
  if (count == 1 && deltas == 1) fill = request.base.empty() ? FillFromIndex : FillFromDeltaAndBase;
  if (count > 1 && deltas == count) fill = FillFromDeltas;
  if (count == 2 && deltas + remotes == 0) fill = FillFromPair;
  if (!fill) {
    return Error{ErrorKind::kUsage, "stats is of two checkpoints, of deltas, or of one remote", see};
  }
  if (!request.base.empty() && fill != FillFromDeltaAndBase) {
    return Error{ErrorKind::kUsage, "a base goes with one delta", see};
  }
  if (request.encodings && fill != FillFromPair && fill != FillFromDeltaAndBase) {
    return Error{ErrorKind::kUsage, "encodings are compared for two checkpoints, or for a delta with its base", see};
  }
  return fill;
}

Result<StatsReport> DoStats(const StatsRequest& request, const Context& context) {
  StatsReport report;
  WD_ASSIGN(const Fill fill, ChooseFill(request));
  report.names = request.subjects;
  WD_TRY(fill(request, context, report));
  for (TensorStats& tensor : report.tensors) tensor.place = PlaceOf(tensor.name);
  if (const std::vector<GroupRow> rows = Group(report.tensors, GroupBy::kWhole); !rows.empty()) report.whole = rows[0];
  report.findings = FindUnusual(report);
  return report;
}

}  // namespace

Result<StatsReport> Stats(const StatsRequest& request, const Context& context) {
  return Guarded(DoStats, request, context);
}

}  // namespace wdelta
