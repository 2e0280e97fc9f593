#include <algorithm>

#include "core/free_space.h"
#include "sync/lineage.h"
#include "sync/route_fetch.h"
#include "sync/way_index.h"
#include "walk/rebuild.h"

namespace wdelta {

namespace {

// Of a given base that may be the goal, before it is copied. Several small tensors tell more than one large one.
constexpr uint64_t kMostCompared = 16 << 20;
// A journal that is short of room is carried out part by part (walk/in_place.h).
constexpr uint64_t kMostJournalBytes = uint64_t{130} << 20, kJournalBytesPerElement = 12;

class HistoryLineage final : public Lineage {
 public:
  HistoryLineage(RemoteHistory& history, const std::string& packs, unsigned jobs, const Context& context)
      : history_(history), fetch_(history, PackStore(packs), jobs, context), context_(context) {}

  Result<Goal> Find(const Wish& wish, const SeenRecord* at) override {
    Goal goal;
    goal.seen.url = history_.remote().url();
    if (goal_.number > 0) history_.LookAgain();
    if (at && at->url == goal.seen.url) {
      WD_ASSIGN(const News news, history_.LookPast(at->number));
      goal.unchanged = news.since == SinceThen::kSame && (at->mark.empty() || news.mark == at->mark);
      if (goal.unchanged) return goal;
      // An empty store is told from one that never had a history.
      if (news.since == SinceThen::kWentBackwards && !wish.allow_rollback) {
        WD_ASSIGN(const uint64_t tip, history_.FindTip());
        if (tip == 0) return WentBackwards(goal.seen.url, at->number, tip);
      }
    }
    WD_ASSIGN(goal_, history_.Resolve(wish.revision));
    WD_ASSIGN(goal.record, history_.Read(goal_.number));
    WD_ASSIGN(goal.newest, history_.FindTip());
    goal.label = {goal_.number, goal_.step, goal_.created};
    goal.published = goal_.created;
    goal.state = goal_.state;
    goal.bytes = SumOrMost(goal_.bytes_total, 1 << 20);  // with headers and companions
    goal.seen.history = goal.record->history;
    goal.seen.number = goal_.number;
    goal.seen.record = goal_.record;
    return goal;
  }

  // Later records repeat the digests of earlier ones, so that this takes few reads.
  Result<bool> StillHas(const SeenRecord& seen) override {
    if (seen.number > goal_.number) return true;
    WD_ASSIGN(const std::vector<RecordEntry> entries, history_.Entries(seen.number, goal_.number));
    return entries.front().record == seen.record;
  }

  Result<bool> IsGoal(const Base& copy, const SeenRecord&) override { return copy.state == goal_.state; }

  Result<std::string> Mark(uint64_t number) override {
    WD_ASSIGN(const News news, history_.LookPast(number));
    return news.mark;
  }

  Result<Plan> MakePlan(const std::vector<Base>& bases) override {
    std::vector<Sha256Digest> states;
    for (const Base& base : bases) {
      WD_ASSIGN(const Sha256Digest state, base.state ? Result<Sha256Digest>(*base.state) : StateOfGiven(base.path));
      states.push_back(state);
    }
    const auto base_with = [&](const Sha256Digest& state) {
      return static_cast<size_t>(std::find(states.begin(), states.end(), state) - states.begin());
    };
    const auto have = [&](const RecordEntry& entry) { return base_with(entry.state) < states.size(); };
    WD_ASSIGN(route_, fetch_.Plan(goal_, have, !bases.empty()));

    Plan plan;
    for (const RouteWay& way : route_.ways) {
      plan.steps.push_back({way.way.from, way.to, way.way.bytes(), fetch_.packs().MissingBytes(way.way)});
    }
    for (const RecordEntry& entry : fetch_.entries()) {
      if (entry.number == route_.start) plan.base = base_with(entry.state);
      if (entry.number <= route_.start) continue;
      const uint64_t elements = std::min(entry.elements_changed, kMostJournalBytes);
      plan.patch_bytes = std::min(plan.patch_bytes + elements * kJournalBytesPerElement, kMostJournalBytes);
    }
    return plan;
  }

  Result<bool> Fetch(uint64_t* wire_bytes) override {
    const uint64_t before = fetch_.wire_bytes();
    Result<bool> fetched = fetch_.Fetch(route_);
    *wire_bytes += fetch_.wire_bytes() - before;
    return fetched;
  }

  Result<OpenedTarget> Open(const std::string& base) override {
    return OpenRoute(route_, fetch_.packs(), base, given_files_, context_);
  }

  bool may_be_damaged() const override { return false; }
  void DropFetched() override { fetch_.packs().KeepOnly({}); }

 private:
  // The state of a base that the user has named. One that looks like the goal is taken for it, and the walk that copies
  // it proves or refutes that; any other is read to find out.
  Result<Sha256Digest> StateOfGiven(const std::string& path) {
    if (given_state_) return *given_state_;
    const Result<std::unique_ptr<DeltaReader>> reader =
        OpenWayIndex(history_.remote(), goal_.delta ? *goal_.delta : *goal_.anchor, context_);
    const bool has_index = reader.ok();  // else gc has removed the pack
    if (!has_index && reader.error().kind != ErrorKind::kNotFound) return reader.error();
    // The base is opened with the files that were chosen when the record was pushed.
    if (has_index) given_files_ = {(*reader)->index().layout.include, (*reader)->index().layout.exclude};
    WD_ASSIGN(const Checkpoint checkpoint, Checkpoint::Open(path, given_files_, context_.note));
    bool looks_like_goal = false;
    if (has_index) {
      WD_ASSIGN(looks_like_goal, LooksLikeGoal(checkpoint, (*reader)->index()));
    }
    if (looks_like_goal) {
      given_state_ = goal_.state;
    } else {
      WD_ASSIGN(const Proof proof, ProveCheckpoint(checkpoint, context_));
      given_state_ = proof.state();
    }
    return *given_state_;
  }

  // Compares some of the tensors that the last step changed: in any other record they are most likely different.
  Result<bool> LooksLikeGoal(const Checkpoint& checkpoint, const DeltaIndex& index) {
    if (index.totals.tensors_total != checkpoint.tensors().size()) return false;
    std::vector<std::pair<const Tensor*, uint32_t>> changed;
    for (const TensorRecord& record : index.tensors) {
      const Tensor* tensor = checkpoint.Find(record.name);
      if (!tensor) return false;
      changed.emplace_back(tensor, record.digest);
    }
    std::sort(changed.begin(), changed.end(),
              [](const auto& a, const auto& b) { return a.first->bytes < b.first->bytes; });
    const uint64_t most = std::min(kMostCompared, index.totals.bytes_total / 16);
    uint64_t bytes = 0;
    for (const auto& [tensor, digest] : changed) {
      if (bytes > 0 && bytes + tensor->bytes > most) break;
      bytes += tensor->bytes;
      WD_ASSIGN(const std::vector<TensorDigest> digests, DigestTensors(checkpoint, {*tensor}, context_));
      if (ShortTensorDigest(digests[0]) != digest) return false;
    }
    return bytes > 0;
  }

  RemoteHistory& history_;
  RouteFetch fetch_;
  const Context& context_;
  RecordEntry goal_;
  Route route_;
  FileChoice given_files_;
  std::optional<Sha256Digest> given_state_;
};

}  // namespace

std::unique_ptr<Lineage> HistoryAsLineage(RemoteHistory& history, const std::string& packs, unsigned jobs,
                                          const Context& context) {
  return std::make_unique<HistoryLineage>(history, packs, jobs, context);
}

}  // namespace wdelta
