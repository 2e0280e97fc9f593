#include "sync/copy_builder.h"

#include <algorithm>

#include "core/free_space.h"
#include "core/path.h"
#include "walk/in_place.h"
#include "walk/journal.h"

namespace wdelta {

namespace {

// A copy holds exactly the files of its checkpoint.
const FileChoice kAllFiles = {{"*"}, {}};

uint64_t BytesBelow(const std::string& folder) {
  uint64_t bytes = 0;
  const Result<> walked = WalkTree(folder, [&](const std::string& path, EntryKind kind) -> Result<bool> {
    if (kind == EntryKind::kFile) bytes = SumOrMost(bytes, SizeOfFile(folder + "/" + path).value_or(0));
    return true;
  });
  return walked.ok() ? bytes : 0;
}

uint64_t BytesOf(const Layout& layout) {
  uint64_t bytes = 0;
  for (size_t file = 0; file < layout.file_count(); ++file) {
    bytes = SumOrMost(bytes, SumOrMost(layout.file(file).bytes, layout.file(file).data_bytes));
  }
  return bytes;
}

Result<> CheckFits(const Replica& replica, uint64_t bytes) {
  return CheckSpace(replica.folder(), bytes,
                    "make room, keep fewer copies ('--keep 1'), or patch the only one with '--in-place'");
}

Error NotWhatItWas(const Base& base, const std::string& what) {
  return Error{ErrorKind::kConflict, "'" + base.path + "' is no longer what was pulled as " + what, "", base.path};
}

}  // namespace

Result<Proof> CopyBuilder::FinishAndRead(const std::string& path) const {
  WD_TRY(PrepareInPlace(path, replica_.durable(), context_));
  WD_ASSIGN(const Checkpoint checkpoint, Checkpoint::Open(path, kAllFiles, context_.note));
  return ProveCheckpoint(checkpoint, context_);
}

// A journal that is complete brings its copy to the state that it was on its way to; one that is not leaves the copy as
// it was, or, where the journal was short of room, patched in part. Only reading tells which.
Result<> CopyBuilder::FinishInterrupted() {
  half_.reset();
  if (const std::optional<ReplicaCopy> copy = replica_.unfinished()) {
    Result<Proof> proof = FinishAndRead(replica_.PathOf(*copy));
    if (proof.ok() && proof->state() == copy->state) {
      WD_TRY(replica_.EndPatching());
    } else if (proof.ok()) {
      half_ = std::move(*proof);
    } else if (options_.in_place || proof.error().kind == ErrorKind::kInterrupted) {
      return proof.TakeError();
    } else {
      context_.note(proof.error().message + "; building from something else");
    }
  }
  // Somebody has patched a copy by hand.
  for (const ReplicaCopy& copy : replica_.copies()) {
    const std::string path = replica_.PathOf(copy);
    if (!Journal::Exists(path)) continue;
    const Result<Proof> proof = FinishAndRead(path);
    if (!proof.ok() || proof->state() != copy.state) Spoil({path, copy.number, copy.state});
  }
  return {};
}

std::vector<Base> CopyBuilder::Bases(bool numbered) const {
  std::vector<Base> bases;
  const auto offer = [&](const std::string& path, std::optional<uint64_t> number, std::optional<Sha256Digest> state,
                         bool half) {
    const auto is_it = [&](const Base& base) { return base.path == path && base.state == state; };
    if (std::none_of(spoilt_.begin(), spoilt_.end(), is_it)) bases.push_back({path, number, state, half});
  };
  const auto number_of = [&](const ReplicaCopy& copy) {
    return numbered || replica_.PathOf(copy) == staged_ ? std::optional(copy.number) : std::nullopt;
  };
  for (const ReplicaCopy& copy : replica_.copies()) offer(replica_.PathOf(copy), number_of(copy), copy.state, false);
  if (const std::optional<ReplicaCopy>& copy = replica_.unfinished()) {
    if (half_) offer(half_->path(), std::nullopt, half_->state(), false);
    offer(replica_.PathOf(*copy), number_of(*copy), copy->state, true);
  }
  if (bases.empty() && !options_.base.empty()) offer(options_.base, std::nullopt, std::nullopt, false);
  return bases;
}

std::optional<ReplicaCopy> CopyBuilder::OwnCopy(const Base* base) const {
  if (!base) return std::nullopt;
  for (const ReplicaCopy& copy : replica_.copies()) {
    if (replica_.PathOf(copy) == base->path) return copy;
  }
  const std::optional<ReplicaCopy>& copy = replica_.unfinished();
  return copy && replica_.PathOf(*copy) == base->path ? copy : std::nullopt;
}

std::vector<ReplicaCopy> CopyBuilder::Due(const Base* base) const {
  return replica_.Surplus(most_copies() - 1, base ? base->path : "");
}

bool CopyBuilder::Patches(const Plan& plan, const Base* base) const {
  if (!OwnCopy(base) || plan.steps.empty()) return false;
  const bool fits = replica_.copies().size() - Due(base).size() < most_copies();
  return options_.in_place || (IsStaged(*base) && !fits);
}

Result<> CopyBuilder::CheckRoom(const Goal& goal, const Plan& plan, const Base* base) const {
  if (OwnCopy(base) && plan.steps.empty()) return {};
  uint64_t bytes = Patches(plan, base) ? plan.patch_bytes : goal.bytes, freed = 0;
  for (const PlanStep& step : plan.steps) bytes = SumOrMost(bytes, step.missing_bytes);
  if (!Patches(plan, base)) {
    for (const ReplicaCopy& copy : Due(base)) freed = SumOrMost(freed, BytesBelow(replica_.PathOf(copy)));
  }
  return CheckFits(replica_, bytes - std::min(bytes, freed));
}

Result<> CopyBuilder::RemoveSpoilt() {
  std::vector<ReplicaCopy> removed;
  for (const ReplicaCopy& copy : replica_.copies()) {
    const auto is_it = [&](const Base& base) { return base.path == replica_.PathOf(copy); };
    const bool is_current = replica_.current() && replica_.current()->name == copy.name;
    if (!is_current && std::any_of(spoilt_.begin(), spoilt_.end(), is_it)) removed.push_back(copy);
  }
  return replica_.Remove(removed);
}

Result<> CopyBuilder::Stage(const Proof& whole, const CopyLabel& label) {
  WD_ASSIGN(staged_, replica_.Keep(whole, label));
  return {};
}

void CopyBuilder::DropStaged() {
  for (const ReplicaCopy& copy : replica_.copies()) {
    if (replica_.PathOf(copy) != staged_ || replica_.copies().size() == 1) continue;
    const Result<> removed = replica_.Remove({copy});
    if (!removed.ok()) context_.note(removed.error().message);
    return;
  }
}

Result<CopyBuilder::Built> CopyBuilder::Build(const Goal& goal, const Plan& plan, const Base* base) {
  if (OwnCopy(base) && plan.steps.empty()) return AdoptHere(goal, *base);
  return Patches(plan, base) ? Patch(goal, *base) : Copy(goal, plan, base);
}

// The copy is here already. It is read before it becomes current: nothing else can tell what its bytes are.
Result<CopyBuilder::Built> CopyBuilder::AdoptHere(const Goal& goal, const Base& base) {
  const std::string what = "record " + std::to_string(goal.label.number);
  if (base.half) return NotWhatItWas(base, what);
  const auto read = [&]() -> Result<Proof> {
    if (half_ && half_->path() == base.path) return *half_;
    WD_ASSIGN(const Checkpoint checkpoint, Checkpoint::Open(base.path, kAllFiles, context_.note));
    return ProveCheckpoint(checkpoint, context_);
  };
  WD_ASSIGN(const Proof proof, read());
  if (proof.state() != (goal.state ? *goal.state : *base.state)) return NotWhatItWas(base, what);
  WD_TRY(replica_.Adopt(proof, goal.label));
  return Built{proof.digests(), std::nullopt};
}

Result<CopyBuilder::Built> CopyBuilder::Patch(const Goal& goal, const Base& base) {
  const bool is_unfinished = replica_.unfinished() && replica_.PathOf(*replica_.unfinished()) == base.path;
  const auto patch = [&]() -> Result<Rebuilt> {
    WD_TRY(PrepareInPlace(base.path, replica_.durable(), context_));
    WD_ASSIGN(const OpenedTarget opened, lineage_.Open(base.path));
    if (!is_unfinished) WD_TRY(replica_.BeginPatching(*OwnCopy(&base)));
    return PatchInPlace(opened, base.path, replica_.durable(), context_);
  };
  Result<Rebuilt> rebuilt = patch();
  if (rebuilt.ok()) return Adopt(goal, *rebuilt);
  // Without a journal not a byte of the copy was changed.
  if (!is_unfinished && replica_.unfinished() && !Journal::Exists(base.path)) WD_TRY(replica_.EndPatching());
  return rebuilt.TakeError();
}

Result<CopyBuilder::Built> CopyBuilder::Copy(const Goal& goal, const Plan& plan, const Base* base) {
  WD_TRY(replica_.Remove(Due(base)));
  RemoveTree(replica_.NewPath());
  WD_ASSIGN(const OpenedTarget opened, lineage_.Open(base ? base->path : ""));
  WD_TRY(CheckFits(replica_, BytesOf(opened.target->layout())));
  WD_ASSIGN(const Rebuilt rebuilt, RebuildCopy(opened, replica_.NewPath() + "/", replica_.durable(), context_));
  const bool base_is_known = base && base->state && !base->half;
  if (base_is_known && rebuilt.base.state != *base->state) return NotWhatItWas(*base, "a copy");
  // A base that looked like the goal, and was not read before.
  if (base && !base->state && plan.steps.empty() && goal.state && rebuilt.proof.state() != *goal.state) {
    return Error{ErrorKind::kConflict, "'" + base->path + "' is not record " + std::to_string(goal.label.number)}.At(
        base->path);
  }
  return Adopt(goal, rebuilt);
}

Result<CopyBuilder::Built> CopyBuilder::Adopt(const Goal& goal, const Rebuilt& rebuilt) {
  if (goal.state && rebuilt.proof.state() != *goal.state) {
    Error error{ErrorKind::kIntegrity,
                "the packs of record " + std::to_string(goal.label.number) + " do not produce its state"};
    error.expected = Hex(*goal.state);
    error.found = Hex(rebuilt.proof.state());
    return error;
  }
  WD_TRY(replica_.Adopt(rebuilt.proof, goal.label));
  return Built{rebuilt.proof.digests(), rebuilt.totals};
}

}  // namespace wdelta
