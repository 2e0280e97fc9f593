#include "sync/push_base.h"

#include <filesystem>

#include "sync/route_fetch.h"
#include "walk/inbound.h"

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

std::vector<KeptFile> FilesOf(const Checkpoint& checkpoint) {
  const Layout& layout = checkpoint.layout();
  std::vector<KeptFile> files;
  for (size_t i = 0; i < layout.file_count(); ++i) {
    const std::string& path = layout.file(i).path;
    files.push_back({layout.lone_file ? checkpoint.path() : checkpoint.path() + "/" + path, path});
  }
  return files;
}

Result<std::string> PushBase::Choose(const Record* tip, const Checkpoint& source) {
  const std::string& mirror = options_.mirror;
  const bool has_mirror = !mirror.empty() && !IsMissingOrEmpty(mirror);
  if (!tip) {
    if (!has_mirror) return std::string();
    return Error{ErrorKind::kConflict, "'" + session_.url() + "' is empty, but the mirror '" + mirror + "' is not",
                 "name a folder that does not exist: the first push fills it"};
  }
  const Sha256Digest& wanted = tip->entry.state;
  if (!options_.base.empty()) {
    if (!options_.rebase) return options_.base;
    WD_ASSIGN(const Checkpoint base, Checkpoint::Open(options_.base, options_.files, context_.note));
    WD_ASSIGN(const StateDigests digests, DigestCheckpoint(base, context_));
    if (digests.state == wanted) return options_.base;
    WD_TRY(BringToTip(options_.base, digests.state, *tip));
    return home_.base_path();
  }
  const bool is_there = mirror.empty() ? home_.HasKeptBase() : has_mirror;
  if (!is_there && options_.anchor) return std::string();
  if (!is_there && !options_.rebase) return NoBase(*tip, source.data_bytes());
  // Without a base, all of it comes from the store.
  const Sha256Digest known = is_there ? home_.base_state() : Sha256Digest{};
  if (is_there && (known == wanted || known == Sha256Digest{})) return KeptPath();
  if (!options_.rebase) return HistoryMoved(session_.remote(), *tip, Hex(known));
  WD_TRY(BringToTip(KeptPath(), known, *tip));
  return KeptPath();  // the kept base is named after its state
}

// Applies to `base` what others have pushed since; the result is the mirror, or the kept base.
Result<> PushBase::BringToTip(const std::string& base, const Sha256Digest& state, const Record& tip) {
  RouteFetch fetch(session_.history(), PackStore(home_.packs_path()), session_.jobs(), context_);
  const auto have = [&](const RecordEntry& entry) { return entry.state == state; };
  WD_ASSIGN(const Route route, fetch.PlanAndFetch(tip.entry, have, state != Sha256Digest{}));
  ApplyRequest apply = FollowRoute(route, fetch.packs(), base);
  const bool is_mirror = base == options_.mirror;
  apply.in_place = is_mirror && route.start > 0;
  if (is_mirror && !apply.in_place) {
    RemoveTree(base);
    apply.output = base + "/";
  }
  WD_TRY(Rebuild(std::move(apply), tip.entry.state));
  fetch.packs().KeepOnly({});
  return {};
}

// Applies packs that were checked, and remembers the state that they lead to. Without an output the result becomes the
// kept base.
Result<> PushBase::Rebuild(ApplyRequest apply, const Sha256Digest& state) {
  apply.durable = home_.durable();
  const bool is_kept_base = !apply.in_place && apply.output.empty();
  const std::string fresh = home_.folder() + "/base.new";
  if (is_kept_base) {
    RemoveTree(fresh);
    apply.output = fresh + "/";
  }
  WD_TRY(ApplyDeltas(apply, Trust::kIndex, context_));
  return is_kept_base ? home_.ReplaceBase(fresh, state) : home_.SetBaseState(state);
}

Result<> PushBase::AdvanceMirror(const ReadyPack& pack) {
  const std::string& mirror = options_.mirror;
  const bool is_missing = IsMissingOrEmpty(mirror);
  ApplyRequest apply;
  if (pack.anchor()) {
    if (!is_missing && home_.base_state() == Sha256Digest{}) {
      return Error{ErrorKind::kConflict,
                   "the record is committed, but the mirror '" + mirror + "' was not made by wdelta",
                   "move it away, and give the next push '--base'"};
    }
    RemoveTree(mirror);
    apply.base = pack.path();
    apply.output = mirror + "/";
    return Rebuild(std::move(apply), pack.result().state);
  }
  if (is_missing) {
    return Error{ErrorKind::kNotFound, "the record is committed, but the mirror '" + mirror + "' is gone",
                 "give the next push a base"};
  }
  apply.base = mirror;
  apply.deltas = {pack.path()};
  apply.in_place = true;
  return Rebuild(std::move(apply), pack.result().state);
}

Result<> PushBase::Advance(const ReadyPack& pack, const Checkpoint* source) {
  if (!options_.mirror.empty()) return AdvanceMirror(pack);
  if (!options_.base.empty() || options_.keep_base == KeepBase::kOff) return {};
  if (source) {
    const Result<> kept = home_.ReplaceBase(FilesOf(*source), options_.keep_base, pack.result().state);
    if (!kept.ok()) {
      context_.note("the checkpoint could not be kept as the base of the next push (" + kept.error().message +
                    "); '--keep-base copy' or '--mirror DIR' would");
    }
    return {};
  }
  if (!home_.HasKeptBase() && !pack.anchor()) return {};
  ApplyRequest apply;
  apply.base = pack.anchor() ? pack.path() : home_.base_path();
  if (!pack.anchor()) apply.deltas = {pack.path()};
  return Rebuild(std::move(apply), pack.result().state);
}

Error PushBase::NoBase(const Record& tip, uint64_t source_bytes) const {
  const std::string looked = options_.mirror.empty() ? "'" + home_.base_path() + "', where the last push keeps it,"
                                                     : "the mirror '" + options_.mirror + "'";
  Error error{ErrorKind::kConflict, "no base for record " + std::to_string(tip.entry.number + 1) + " of '" +
                                        session_.url() + "': " + looked + " is not there"};
  error.expected = Hex(tip.entry.state);
  error.hint = "name the checkpoint of record " + std::to_string(tip.entry.number) +
               " with '--base', fetch it with '--rebase', or send all of the model, up to " +
               std::to_string(source_bytes) + " bytes, with '--anchor'";
  return error;
}

}  // namespace wdelta
