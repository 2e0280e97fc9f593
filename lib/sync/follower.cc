#include "sync/follower.h"

#include <algorithm>
#include <ctime>

#include "core/stopwatch.h"
#include "walk/journal.h"

namespace wdelta {

namespace {

constexpr unsigned kAttempts = 4;
constexpr double kMostSkew = 600;  // seconds that two clocks may differ

// ---- What a pull refuses to follow, from whatever kind of store, unless the user allows it ----

Error Rewritten(const std::string& url, uint64_t number) {
  return Error{ErrorKind::kRefused,
               "the history of '" + url + "' was rewritten: record " + std::to_string(number) +
                   " is not the one that was pulled before",
               "if that is intended, use '--allow-rollback'"};
}

Error OtherHistory(const std::string& folder, const std::string& url) {
  return Error{ErrorKind::kRefused, "'" + folder + "' follows another history than the one at '" + url + "'",
               "pull it into another folder, or use '--allow-rollback'"};
}

// kRefused if the newest record, made at `created` (seconds since 1970), is older than `max_age` seconds, or from the
// future. 0: any age will do.
Result<> CheckAge(const std::string& url, uint64_t created, double max_age) {
  if (max_age <= 0) return {};
  const std::time_t now = std::time(nullptr);
  const double age = static_cast<double>(now) - static_cast<double>(created);
  if (age < -kMostSkew) {  // it would pass for new for ever
    return Error{ErrorKind::kRefused, "the newest record of '" + url + "' is from the future, so its age is not known",
                 "compare the clocks of this machine and of the pusher"};
  }
  if (age <= max_age) return {};
  return Error{ErrorKind::kRefused,
               "the newest record of '" + url + "' is " + std::to_string(now - static_cast<std::time_t>(created)) +
                   " seconds old, more than allowed",
               "see whether the trainer still pushes, or whether this is an old mirror"};
}

}  // namespace

Error WentBackwards(const std::string& url, uint64_t seen, uint64_t found) {
  Error error{ErrorKind::kRefused, "the history of '" + url + "' went backwards: record " + std::to_string(seen) +
                                       " was seen before, the newest is now " + std::to_string(found)};
  error.expected = std::to_string(seen);
  error.found = std::to_string(found);
  error.hint = "if that is intended, pull a record by name (@" + std::to_string(found) + ") or use '--allow-rollback'";
  return error;
}

namespace {

class Follower {
 public:
  Follower(Lineage& lineage, Replica& replica, const FollowOptions& options, const Context& context)
      : lineage_(lineage),
        replica_(replica),
        options_(options),
        context_(context),
        builder_(lineage, replica, options.build, context) {}

  Result<FollowReport> Run() {
    for (unsigned attempt = 0;; ++attempt) {
      Result<FollowReport> followed = FollowOnce();
      if (followed.ok() || followed.error().kind != ErrorKind::kNotFound) return followed;
      if (options_.wish.named || goal_.label.number == 0 || attempt == kAttempts) return followed;
      // What leads to the newest record may have been removed in the meantime. Then there is a newer one by now.
      const Result<Goal> newer = lineage_.Find(options_.wish, nullptr);
      if (!newer.ok() || newer->label.number <= goal_.label.number) return followed;
    }
  }

 private:
  Result<FollowReport> FollowOnce() {
    const SeenRecord seen = replica_.seen();
    const ReplicaCopy* current = replica_.current();
    if (current) report_.previous = current->number;
    if (replica_.unfinished_is_current()) report_.previous = replica_.unfinished()->number;
    const bool at_rest = current && !replica_.unfinished() && !Journal::Exists(replica_.PathOf(*current));

    const bool may_glance = at_rest && !options_.wish.named && seen.number == current->number;
    WD_ASSIGN(goal_, lineage_.Find(options_.wish, may_glance ? &seen : nullptr));
    if (goal_.unchanged) goal_.published = current->created;
    WD_TRY(CheckFresh(seen));
    if (goal_.unchanged) return Finish(true);
    if (at_rest) {
      const Base base{replica_.PathOf(*current), follows_ ? std::optional(current->number) : std::nullopt,
                      current->state};
      WD_ASSIGN(const bool is_goal, lineage_.IsGoal(base, seen));
      if (is_goal && current->number != goal_.label.number) WD_TRY(replica_.Relabel(goal_.label));
      if (is_goal) WD_TRY(Remember(goal_.label.number));
      if (is_goal) return Finish(true);
    }
    report_.update_exists = true;
    if (options_.check) return Describe();
    WD_TRY(CheckNotRewritten(seen));
    if (Result<> built = Build(); !built.ok()) {
      builder_.DropStaged();
      return built.TakeError();
    }
    return options_.plan ? Describe() : Finish(false);
  }

  // No other history, and none that went backwards; what is asked for by name is always given.
  Result<> CheckFresh(const SeenRecord& seen) {
    const Wish& wish = options_.wish;
    const std::string& url = goal_.seen.url;
    if (!wish.named) WD_TRY(CheckAge(url, goal_.published, wish.max_age));
    if (seen.number == 0 || goal_.unchanged) return {};
    const bool is_other = seen.history != goal_.seen.history, is_backwards = goal_.newest < seen.number;
    follows_ = !is_other && !is_backwards;
    if (wish.named || wish.allow_rollback) return {};
    if (is_other) return OtherHistory(replica_.folder(), url);
    if (is_backwards) return WentBackwards(url, seen.number, goal_.newest);
    const bool is_another = goal_.label.number == seen.number && goal_.seen.record != seen.record;
    return is_another ? Result<>(Rewritten(url, seen.number)) : Result<>();
  }

  // A store that was written anew from an earlier record on has the same numbers again.
  Result<> CheckNotRewritten(const SeenRecord& seen) {
    if (!follows_) return {};
    WD_ASSIGN(follows_, lineage_.StillHas(seen));
    if (follows_ || options_.wish.named || options_.wish.allow_rollback) return {};
    return Rewritten(goal_.seen.url, seen.number);
  }

  Result<> Remember(uint64_t number) {
    const SeenRecord seen = replica_.seen();
    if ((follows_ || goal_.state) && !options_.wish.allow_rollback) {
      if (number < seen.number) return {};
      if (number == seen.number && !goal_.state) return {};  // it is the very one: CheckNotRewritten has looked
    }
    SeenRecord next = goal_.seen;
    next.number = number;
    WD_ASSIGN(next.mark, lineage_.Mark(number));
    return replica_.Remember(next);
  }

  Result<> Build() {
    if (!options_.plan) WD_TRY(builder_.FinishInterrupted());
    const bool keeps_copies = follows_ || goal_.state;  // else the numbers of the copies mean nothing any more
    std::optional<Error> failure;                       // of the attempt before
    bool staged = false;                                // a part of the way is made
    for (unsigned attempt = 0;;) {
      const std::vector<Base> bases = builder_.Bases(follows_);
      Result<Plan> planned = lineage_.MakePlan(bases);
      if (!planned.ok() && planned.error().kind == ErrorKind::kNotFound && failure) return *failure;
      WD_ASSIGN(const Plan plan, std::move(planned));
      if (!staged) report_.plan = plan.steps;
      if (options_.plan) return {};
      const Base* base = plan.base ? &bases[*plan.base] : nullptr;
      WD_TRY(builder_.CheckRoom(goal_, plan, base));
      const Stopwatch download;
      WD_ASSIGN(const bool fetched, lineage_.Fetch(&report_.wire_bytes));
      report_.download_seconds += download.seconds();
      if (!fetched) continue;  // planned again without what is gone

      const Stopwatch apply;
      Result<bool> built = BuildFrom(plan, base);
      report_.apply_seconds += apply.seconds();
      if (built.ok() && *built) break;
      if (built.ok()) {
        staged = true;
        continue;
      }
      failure = built.error();
      WD_TRY(Recover(*failure, base, attempt++));
    }
    WD_TRY(Remember(goal_.label.number));
    WD_TRY(builder_.RemoveSpoilt());
    WD_TRY(replica_.Remove(replica_.Surplus(options_.build.in_place || !keeps_copies ? 1 : options_.build.keep, "")));
    lineage_.DropFetched();
    return {};
  }

  // False: a whole checkpoint was fetched, and the rest of the way has to be planned from there.
  Result<bool> BuildFrom(const Plan& plan, const Base* base) {
    WD_ASSIGN(const std::optional<Proof> whole, base ? std::optional<Proof>() : lineage_.FetchedWhole());
    if (whole && plan.steps.size() == 1) {
      WD_TRY(replica_.Adopt(*whole, goal_.label));
      report_.digests = whole->digests();
      return true;
    }
    if (whole) {
      const CopyLabel label{plan.steps.front().to, std::nullopt, goal_.label.created};
      WD_TRY(builder_.Stage(*whole, label));
      if (replica_.seen().number > 0) return false;  // what is here counts as another run's until all is done
      WD_TRY(Remember(label.number));                // a pull that is killed now need not fetch it again
      return false;
    }
    WD_ASSIGN(const CopyBuilder::Built built, builder_.Build(goal_, plan, base));
    report_.digests = built.digests;
    report_.totals = built.totals;
    return true;
  }

  // A copy that was changed is not a base: something else may do. Where nothing but the walk proves what was fetched,
  // that may be damaged, too, and is fetched once more.
  Result<> Recover(const Error& error, const Base* base, unsigned attempt) {
    const bool is_damage = error.kind == ErrorKind::kIntegrity;
    const bool may_pass = is_damage || error.kind == ErrorKind::kConflict || error.kind == ErrorKind::kNotFound;
    // The store's own whole checkpoint is the right base: a delta is damaged then.
    const bool is_staged = base && builder_.IsStaged(*base);
    const bool fetches_again = lineage_.may_be_damaged() && attempt < 2;
    const bool spoils = base && !is_staged && (!is_damage || !lineage_.may_be_damaged() || attempt > 0);
    if (!may_pass || attempt + 1 == kAttempts || (!fetches_again && !spoils)) {
      Error last = error;
      if (is_staged && last.kind == ErrorKind::kConflict) last.kind = ErrorKind::kIntegrity;
      return last;
    }
    context_.note(error.message + (spoils ? "; building from something else" : "; fetching again"));
    if (fetches_again) lineage_.DropFetched();
    if (spoils) builder_.Spoil(*base);
    return {};
  }

  Result<FollowReport> Finish(bool up_to_date) {
    report_.goal = goal_;
    report_.copy = *replica_.current();
    report_.up_to_date = up_to_date;
    report_.lag_records = goal_.newest - std::min(goal_.newest, goal_.label.number);
    return report_;
  }

  // What would be done.
  Result<FollowReport> Describe() {
    report_.goal = goal_;
    report_.lag_records = goal_.label.number - std::min(goal_.label.number, report_.previous.value_or(0));
    return report_;
  }

  Lineage& lineage_;
  Replica& replica_;
  const FollowOptions& options_;
  const Context& context_;
  CopyBuilder builder_;
  FollowReport report_;
  Goal goal_;
  bool follows_ = false;  // the numbers of the copies here mean what they mean in the store
};

}  // namespace

Result<FollowReport> FollowLineage(Lineage& lineage, Replica& replica, const FollowOptions& options,
                                   const Context& context) {
  return Follower(lineage, replica, options, context).Run();
}

Result<std::optional<SglangMarker>> KeepMarker(Replica& replica, double lock_wait, const Context& context) {
  replica.SetMarked();
  std::optional<SglangMarker> marker;
  const bool goes_on = replica.unfinished_is_current();
  if (!goes_on && !replica.current()) return marker;
  const ReplicaCopy current = goes_on ? *replica.unfinished() : *replica.current();
  const std::string path = replica.PathOf(current);
  WD_ASSIGN(marker, SglangMarker::Take(path, lock_wait, context.stop));
  if (goes_on) return marker;
  WD_ASSIGN(const std::optional<uint64_t> version, marker->Read());
  if (version == current.number) return marker;
  if (!version && !marker->was_there()) {
    WD_TRY(SglangMarker::Write(path, current.number, replica.durable()));
    return marker;
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
  return marker;
}

}  // namespace wdelta
