#include "sync/push_base.h"

#include "sync/route_fetch.h"
#include "walk/chain.h"
#include "walk/in_place.h"

namespace wdelta {

namespace {

bool IsMissingOrEmpty(const std::string& folder) {
  return !PathExists(folder) || IsEmptyFolder(folder);
}

}  // namespace

Error HistoryMoved(const Remote& remote, const Record& tip, const std::string& expected_state) {
  const std::string state = Hex(tip.entry.state);
  return Error{.kind = ErrorKind::kConflict,
               .message = "'" + remote.url() + "' has a newer record, " + std::to_string(tip.entry.number) +
                          " with state " + state.substr(0, 12) + ", from another pusher",
               .hint = "'--rebase' fetches the new records and computes the difference against them",
               .expected = expected_state,
               .found = state};
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
    WD_ASSIGN(const Proof proof, ProveCheckpoint(base, context_));
    if (proof.state() == wanted) return options_.base;
    WD_TRY(BringToTip(options_.base, proof.state(), *tip));
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
  WD_TRY(Rebuild(route.start > 0 ? base : "", PathsOf(route, fetch.packs())));
  fetch.packs().KeepOnly({});
  return {};
}

// Applies packs to `base` (empty: they begin with an anchor). The result is the mirror, or else the kept base. A mirror
// that is the base is patched where it lies; anything else is built beside and takes its place.
Result<> PushBase::Rebuild(const std::string& base, const std::vector<std::string>& packs) {
  const std::string& mirror = options_.mirror;
  if (!mirror.empty() && base == mirror) {
    WD_TRY(PrepareInPlace(mirror, home_.durable(), context_));
    WD_ASSIGN(const OpenedTarget opened, OpenPacks(base, packs, options_.files, Trust::kIndex, context_));
    WD_ASSIGN(const Rebuilt rebuilt, PatchInPlace(opened, mirror, home_.durable(), context_));
    return home_.SetBaseState(rebuilt.proof.state());
  }
  const std::string output = mirror.empty() ? home_.folder() + "/base.new" : mirror;
  RemoveTree(output);
  WD_ASSIGN(const OpenedTarget opened, OpenPacks(base, packs, options_.files, Trust::kIndex, context_));
  WD_ASSIGN(const Rebuilt rebuilt, RebuildCopy(opened, output + "/", home_.durable(), context_));
  return mirror.empty() ? home_.ReplaceBase(output, rebuilt.proof.state()) : home_.SetBaseState(rebuilt.proof.state());
}

Result<> PushBase::AdvanceMirror(const ReadyPack& pack) {
  const std::string& mirror = options_.mirror;
  const bool is_missing = IsMissingOrEmpty(mirror);
  if (pack.anchor()) {
    if (!is_missing && home_.base_state() == Sha256Digest{}) {
      return Error{ErrorKind::kConflict,
                   "the record is committed, but the mirror '" + mirror + "' was not made by wdelta",
                   "move it away, and give the next push '--base'"};
    }
    return Rebuild("", {pack.path()});
  }
  if (is_missing) {
    return Error{ErrorKind::kNotFound, "the record is committed, but the mirror '" + mirror + "' is gone",
                 "give the next push a base"};
  }
  return Rebuild(mirror, {pack.path()});
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
  return Rebuild(pack.anchor() ? "" : home_.base_path(), {pack.path()});
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
