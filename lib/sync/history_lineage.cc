#include "sync/history_lineage.h"

#include <algorithm>

#include "core/free_space.h"
#include "core/parallel.h"
#include "sync/rollback_guard.h"
#include "sync/way_index.h"
#include "walk/rebuild.h"

namespace wdelta {

namespace {

constexpr unsigned kDefaultJobs = 4;
// A journal that is short of room is carried out part by part (walk/in_place.h).
constexpr uint64_t kMostJournalBytes = uint64_t{130} << 20, kJournalBytesPerElement = 12;

}  // namespace

HistoryLineage::HistoryLineage(Remote& remote, const std::string& packs, unsigned jobs, const Context& context)
    : history_(remote), packs_(packs), jobs_(jobs ? jobs : kDefaultJobs), context_(context) {}

Result<bool> HistoryLineage::Exists() {
  WD_ASSIGN(const uint64_t tip, history_.FindTip());
  return tip > 0;
}

Result<Goal> HistoryLineage::Find(const Wish& wish, const SeenRecord* at) {
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
Result<bool> HistoryLineage::StillHas(const SeenRecord& seen) {
  if (seen.number > goal_.number) return true;
  WD_ASSIGN(const std::vector<RecordEntry> entries, history_.Entries(seen.number, goal_.number));
  return entries.front().record == seen.record;
}

Result<bool> HistoryLineage::IsGoal(const Base& copy, const SeenRecord&) {
  return copy.state == goal_.state;
}

Result<std::string> HistoryLineage::Mark(uint64_t number) {
  WD_ASSIGN(const News news, history_.LookPast(number));
  return news.mark;
}

Result<Sha256Digest> HistoryLineage::StateOfGiven(const std::string& path) {
  if (given_state_) return *given_state_;
  WD_ASSIGN(given_files_, ChoiceOf(history_.remote(), goal_, {}));
  WD_ASSIGN(const Checkpoint checkpoint, Checkpoint::Open(path, given_files_, context_.note));
  WD_ASSIGN(const Proof proof, ProveCheckpoint(checkpoint, context_));
  given_state_ = proof.state();
  return *given_state_;
}

Result<Plan> HistoryLineage::MakePlan(const std::vector<Base>& bases) {
  std::vector<Sha256Digest> states;
  for (const Base& base : bases) {
    WD_ASSIGN(const Sha256Digest state, base.state ? Result<Sha256Digest>(*base.state) : StateOfGiven(base.path));
    states.push_back(state);
  }
  const auto base_with = [&](const Sha256Digest& state) {
    return static_cast<size_t>(std::find(states.begin(), states.end(), state) - states.begin());
  };
  const auto have = [&](const RecordEntry& entry) { return base_with(entry.state) < states.size(); };
  WD_ASSIGN(PlanInput input, history_.GatherPlan(goal_, {have, !bases.empty(), !missing_.empty()}));
  input.cost = [this](const Way& way) -> std::optional<uint64_t> {
    const auto is_it = [&](const Way& gone) { return gone.objects == way.objects; };
    if (std::any_of(missing_.begin(), missing_.end(), is_it)) return std::nullopt;
    return packs_.MissingBytes(way);
  };
  WD_ASSIGN(route_, FindRoute(input));

  Plan plan;
  for (const RouteWay& way : route_.ways) {
    plan.steps.push_back({way.way.from, way.to, way.way.bytes(), packs_.MissingBytes(way.way)});
  }
  for (const RecordEntry& entry : input.entries) {
    if (entry.number == route_.start) plan.base = base_with(entry.state);
    if (entry.number <= route_.start) continue;
    const uint64_t elements = std::min(entry.elements_changed, kMostJournalBytes);
    plan.patch_bytes = std::min(plan.patch_bytes + elements * kJournalBytesPerElement, kMostJournalBytes);
  }
  return plan;
}

Result<bool> HistoryLineage::Fetch(uint64_t* wire_bytes) {
  // A model that goes back and forth passes the same pack more than once; it is fetched once.
  std::vector<RouteWay> ways;
  for (const RouteWay& planned : route_.ways) {
    const auto is_same = [&](const RouteWay& earlier) { return earlier.way.objects == planned.way.objects; };
    if (std::none_of(ways.begin(), ways.end(), is_same)) ways.push_back(planned);
  }
  // Many small packs are fetched side by side, a few large ones each in several pieces.
  const unsigned packs_at_once = ways.size() < jobs_ ? 1 : jobs_;
  Context quiet = context_;
  if (packs_at_once > 1) quiet.progress = [](const Progress&) {};
  Progress progress{0, route_.bytes};
  std::optional<size_t> gone;
  WD_TRY(RunOrdered<std::optional<uint64_t>>(
      ways.size(), {packs_at_once, packs_at_once, context_.stop},
      [&](uint64_t n, unsigned) -> Result<std::optional<uint64_t>> {
        uint64_t bytes = 0;
        Result<> fetched = packs_.Fetch(history_.remote(), ways[n].way, jobs_ / packs_at_once, quiet, &bytes);
        if (!fetched.ok() && fetched.error().kind == ErrorKind::kNotFound) return std::optional<uint64_t>();
        if (!fetched.ok()) return fetched.TakeError();
        return std::optional(bytes);
      },
      [&](uint64_t n, std::optional<uint64_t> bytes) -> Result<> {
        if (!bytes && !gone) gone = n;
        *wire_bytes += bytes.value_or(0);
        progress.done_bytes += bytes.value_or(0);
        if (packs_at_once > 1) context_.progress(progress);
        return {};
      }));
  if (!gone) return true;
  context_.note("the pack of record " + std::to_string(ways[*gone].to) + " has been removed from the store");
  missing_.push_back(ways[*gone].way);
  return false;
}

Result<OpenedTarget> HistoryLineage::Open(const std::string& base) {
  return OpenRoute(route_, packs_, base, given_files_, context_);
}

}  // namespace wdelta
