#include "sync/push_base.h"

#include <algorithm>
#include <filesystem>

#include "walk/chain.h"
#include "walk/in_place.h"

namespace wdelta {

namespace {

bool IsMissingOrEmpty(const std::string& folder) {
  std::error_code failed;
  return !std::filesystem::exists(folder, failed) || std::filesystem::is_empty(folder, failed);
}

}  // namespace

Error HistoryMoved(const Remote& remote, const Record& tip, const std::string& expected_state) {
  const std::string state = Hex(tip.entry.state);
  Error error{ErrorKind::kConflict, "the history of '" + remote.url() + "' has moved on: its newest record is " +
                                        std::to_string(tip.entry.number) + " with state " + state.substr(0, 12) +
                                        ", pushed by somebody else"};
  error.expected = expected_state;
  error.found = state;
  error.hint = "'--rebase' fetches what was pushed and computes the difference against it";
  return error;
}

Result<std::string> PushBase::Choose(const Record* tip) {
  const std::string& mirror = request_.mirror;
  const bool has_mirror = !mirror.empty() && !IsMissingOrEmpty(mirror);
  if (!tip) {
    if (!has_mirror) return std::string();
    return Error{ErrorKind::kConflict,
                 "'" + history_.remote().url() + "' is empty, but the mirror '" + mirror + "' is not",
                 "name a folder that does not exist: the first push fills it"};
  }
  const Sha256Digest& wanted = tip->entry.state;
  if (!request_.base.empty()) {
    if (!request_.rebase) return request_.base;
    WD_ASSIGN(const Checkpoint base, Checkpoint::Open(request_.base, request_.files, context_.note));
    WD_ASSIGN(const Proof proof, ProveCheckpoint(base, context_));
    if (proof.state() == wanted) return request_.base;
    WD_TRY(BringToTip(request_.base, proof.state(), *tip));
    return home_.base_path();
  }
  if (mirror.empty() ? !home_.HasKeptBase() : !has_mirror) {
    if (request_.anchor) return std::string();
    if (!request_.rebase) return NoBase(*tip);
    WD_TRY(BringToTip(mirror.empty() ? home_.base_path() : mirror, {}, *tip));  // all of it comes from the store
    return mirror.empty() ? home_.base_path() : mirror;
  }
  const std::string base = mirror.empty() ? home_.base_path() : mirror;
  const Sha256Digest known = home_.base_state();
  if (known == wanted || known == Sha256Digest{}) return base;
  if (!request_.rebase) return HistoryMoved(history_.remote(), *tip, Hex(known));
  WD_TRY(BringToTip(base, known, *tip));
  return mirror.empty() ? home_.base_path() : mirror;  // the kept base goes by its state
}

// Applies to `base` what others have pushed since; the result is the mirror, or the kept base.
Result<> PushBase::BringToTip(const std::string& base, const Sha256Digest& state, const Record& tip) {
  const auto have = [&](const RecordEntry& entry) { return entry.state == state; };
  const PackStore packs = home_.packs();
  std::vector<Way> missing;  // collected as garbage; there may be an anchor after them
  Route plan;
  for (bool fetched = false; !fetched;) {
    WD_ASSIGN(PlanInput input, history_.GatherPlan(tip.entry, {have, state != Sha256Digest{}, !missing.empty()}));
    input.cost = [&](const Way& way) -> std::optional<uint64_t> {
      if (std::find(missing.begin(), missing.end(), way) != missing.end()) return std::nullopt;
      return packs.MissingBytes(way);
    };
    WD_ASSIGN(plan, FindRoute(input));
    fetched = true;
    for (const RouteWay& way : plan.ways) {
      uint64_t wire_bytes = 0;
      Result<> one = packs.Fetch(history_.remote(), way.way, request_.transfer.jobs, context_, &wire_bytes);
      if (!one.ok() && one.error().kind != ErrorKind::kNotFound) return one.TakeError();
      if (one.ok()) continue;
      missing.push_back(way.way);
      fetched = false;
      break;
    }
  }
  std::vector<std::string> paths;
  for (const RouteWay& way : plan.ways) paths.push_back(packs.PathOf(way.way));
  WD_TRY(Rebuild(plan.start > 0 ? base : "", paths));
  packs.KeepOnly({});
  return {};
}

// Applies packs to `base` (empty: they begin with an anchor). The result is the mirror, or else the kept base.
Result<> PushBase::Rebuild(const std::string& base, const std::vector<std::string>& paths) {
  const std::string& mirror = request_.mirror;
  if (!mirror.empty() && base == mirror) {
    WD_TRY(PrepareInPlace(mirror, home_.durable(), context_));
    WD_ASSIGN(const OpenedTarget opened, OpenPacks(base, paths, request_.files, Trust::kIndex, context_));
    WD_ASSIGN(const Rebuilt rebuilt, PatchInPlace(opened, mirror, home_.durable(), context_));
    return home_.SetBaseState(rebuilt.proof.state());
  }
  const std::string output = mirror.empty() ? home_.folder() + "/base.new" : mirror;
  RemoveTree(output);
  WD_ASSIGN(const OpenedTarget opened, OpenPacks(base, paths, request_.files, Trust::kIndex, context_));
  WD_ASSIGN(const Rebuilt rebuilt, RebuildCopy(opened, output + "/", home_.durable(), context_));
  return mirror.empty() ? home_.ReplaceBase(output, rebuilt.proof.state()) : home_.SetBaseState(rebuilt.proof.state());
}

Result<> PushBase::MoveMirror(const ReadyPack& pack) {
  const std::string& mirror = request_.mirror;
  const bool fresh = IsMissingOrEmpty(mirror);
  if (pack.anchor) {
    if (!fresh && home_.base_state() == Sha256Digest{}) {
      return Error{ErrorKind::kConflict,
                   "the record is committed, but the mirror '" + mirror + "' was not made by wdelta",
                   "move it away, and give the next push '--base'"};
    }
    return Rebuild("", {pack.path});
  }
  if (fresh) {
    return Error{ErrorKind::kNotFound, "the record is committed, but the mirror '" + mirror + "' is gone",
                 "give the next push a base"};
  }
  return Rebuild(mirror, {pack.path});
}

Result<> PushBase::BringAlong(const ReadyPack& pack, const std::string& source) {
  if (!request_.mirror.empty()) return MoveMirror(pack);
  if (!request_.base.empty() || request_.keep_base == "off") return {};
  if (!source.empty()) {
    WD_ASSIGN(const Checkpoint checkpoint, Checkpoint::Open(source, request_.files, [](const std::string&) {}));
    const Result<> kept = home_.KeepBase(source, checkpoint.layout(), request_.keep_base, pack.result.state);
    if (!kept.ok()) {
      context_.note("the checkpoint could not be kept as the base of the next push (" + kept.error().message +
                    "); '--keep-base copy' or '--mirror DIR' would");
    }
    return {};
  }
  if (!home_.HasKeptBase() && !pack.anchor) return {};
  return Rebuild(pack.anchor ? "" : home_.base_path(), {pack.path});
}

Result<std::string> PushBase::NoBase(const Record& tip) const {
  WD_ASSIGN(const Checkpoint source, Checkpoint::Open(request_.source, request_.files, context_.note));
  const std::string looked = request_.mirror.empty() ? "'" + home_.base_path() + "', where the last push keeps it,"
                                                     : "the mirror '" + request_.mirror + "'";
  Error error{ErrorKind::kConflict, "no base for record " + std::to_string(tip.entry.number + 1) + " of '" +
                                        history_.remote().url() + "': " + looked + " is not there"};
  error.expected = Hex(tip.entry.state);
  error.hint = "name the checkpoint of record " + std::to_string(tip.entry.number) +
               " with '--base', fetch it with '--rebase', or send all of the model, up to " +
               std::to_string(source.data_bytes()) + " bytes, with '--anchor'";
  return error;
}

}  // namespace wdelta
