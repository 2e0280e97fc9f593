#include "canonical/publish.h"

#include <algorithm>
#include <ctime>

#include "canonical/publish_base.h"
#include "canonical/version_upload.h"
#include "canonical/whole_version.h"
#include "checkpoint/hex_identity.h"
#include "core/stopwatch.h"
#include "core/text.h"
#include "foreign/foreign_writer.h"
#include "remote/remote_key.h"

namespace wdelta {

namespace {

class VersionPusher {
 public:
  VersionPusher(Session& session, const PushOptions& options, const Context& context)
      : session_(session), options_(options), store_(session.remote()), url_(session.url()), context_(context) {}

  Result<PushReport> Run() {
    WD_TRY(WaitForMarker(options_.ready, context_.stop));
    WD_ASSIGN(PusherState home, PusherState::Open(options_.source, url_, "", options_.lock_wait, context_.stop));
    home_.emplace(std::move(home));
    WD_ASSIGN(latest_, store_.ReadPointer());
    WD_TRY(ChooseRun());
    WD_TRY(CheckStore());
    WD_TRY(FinishInterrupted());
    WD_ASSIGN(const std::string base, ChooseBase());
    WD_ASSIGN(const Checkpoint source, Checkpoint::Open(options_.source, options_.files, context_.note));
    Result<> pushed = base.empty() ? PushWhole(source) : PushDelta(base, source);
    if (!pushed.ok() && base_is_wrong_ && options_.anchor) {
      context_.note(pushed.error().message + "; sending all of the model");
      pushed = PushWhole(source);
    }
    WD_TRY(std::move(pushed));
    report_.retries = store_.remote().retries();
    return report_;
  }

 private:
  uint64_t Newest() const { return latest_ ? latest_->pointer.version : 0; }
  uint64_t Next() const { return Newest() + 1; }
  std::string DeltaFolder() const { return home_->folder() + "/version"; }

  // ---- Where it goes ----

  Result<> ChooseRun() {
    if (latest_) {
      run_ = latest_->pointer.run;
      if (options_.run.empty() || options_.run == run_) return {};
      return Error{ErrorKind::kConflict, "'" + url_ + "' holds the versions of run '" + run_ + "'",
                   "use another remote for run '" + options_.run + "'"};
    }
    const Result<LatestVersion> unpointed = store_.FindUnpointed();
    if (!unpointed.ok() && unpointed.error().kind != ErrorKind::kNotFound) return Error(unpointed.error());
    if (unpointed.ok() && unpointed->pointer.version != home_->publishing()) {
      return Error{ErrorKind::kConflict,
                   "'" + url_ + "' holds versions up to " + VersionName(unpointed->pointer.version) +
                       " and no pointer to them: another system writes there",
                   "use another remote for the versions of this run"};
    }
    WD_ASSIGN(const uint64_t records, session_.history().FindTip());
    if (records > 0) {
      return Error{ErrorKind::kConflict, "'" + url_ + "' holds a history of wdelta",
                   "push without '--format canonical', or use another remote for the versions"};
    }
    run_ = options_.run.empty() ? LastComponent(url_) : options_.run;
    return CheckRunName(run_);
  }

  // A store that takes no notice of conditions would let two pushers move the pointer.
  Result<> CheckStore() {
    if (options_.single_writer || home_->store_was_checked()) return {};
    WD_ASSIGN(const bool creates, KeepsCreateIfAbsent(store_.remote(), context_.note));
    WD_ASSIGN(const bool replaces, KeepsConditionalReplace(store_.remote(), context_.note));
    if (creates && replaces) return home_->SetStoreChecked();
    return Error{
        ErrorKind::kRefused,
        "'" + url_ + "' ignores the conditions of a write, so two pushers could overwrite each other's versions",
        "if only one process pushes there, use '--single-writer'"};
  }

  // The last push may have moved the pointer and not lived to move its base on.
  Result<> FinishInterrupted() {
    RemoveTree(DeltaFolder());
    if (home_->publishing() == 0 || home_->publishing() != Newest()) return {};
    WD_ASSIGN(const std::optional<Bytes> sums, store_.ReadSums(Newest()));
    if (!sums || DigestSha256(*sums) != home_->publishing_proof()) return home_->StopPublishing();
    context_.note("an interrupted push was finished: version " + VersionName(Newest()));
    return home_->FinishPublishing(PointerText(latest_->pointer));
  }

  // ---- What it is computed against ----

  // Empty: all of the checkpoint is sent.
  Result<std::string> ChooseBase() {
    WD_ASSIGN(const bool due, WholeIsDue());
    if (due) return std::string();
    if (!options_.base.empty()) return options_.base;
    if (!latest_) return std::string();
    if (home_->HasKeptBase() && KnowsNewest()) return home_->base_path();
    if (options_.anchor) return std::string();
    const bool moved = home_->HasKeptBase();
    const std::string newest = "version " + VersionName(Newest());
    Error error{ErrorKind::kConflict, "the newest version of '" + url_ + "' is " + VersionName(Newest()) +
                                          (moved ? ", from another pusher" : ", and the last push has kept no base")};
    error.expected = moved ? home_->published() : "";
    error.found = PointerText(latest_->pointer);
    error.hint = "name the checkpoint of " + newest + " with '--base', or send all of the model with '--anchor'";
    return error;
  }

  Result<bool> WholeIsDue() {
    const uint64_t every = options_.anchor_every;
    if (every == 0 || Newest() < every) return false;
    const uint64_t first = Next() - every + 1, known = home_->whole_version();
    if (known >= first && known <= Newest()) return false;
    for (uint64_t version = Newest(); version >= first; --version) {
      WD_ASSIGN(const CanonicalIndex index, store_.ReadIndex(version));
      if (index.is_delta()) continue;
      home_->NoteWholeVersion(version);
      return false;
    }
    return true;
  }

  // ---- What is sent ----

  Result<> PushDelta(const std::string& base_path, const Checkpoint& source) {
    const Stopwatch watch;
    ForeignOptions format;
    format.overwrite = options_.encoding == "overwrite";
    if (options_.checksum == "adler32") format.checksum = ForeignChecksum::kAdler32;
    format.version = VersionName(Next());
    format.base_version = VersionName(Newest());
    WD_ASSIGN(const Checkpoint base, Checkpoint::Open(base_path, options_.files, context_.note));
    const std::unique_ptr<ForeignWriter> writer = CreateCanonical(DeltaFolder(), format);
    WD_ASSIGN(const Exported packed, ExportDelta(base, *PairTarget(&base, source), "canonical", *writer, context_));
    report_.pack_seconds = watch.seconds();
    if (Result<> checked = CheckBase(base, packed.base.state); !checked.ok()) {
      RemoveTree(DeltaFolder());
      base_is_wrong_ = checked.error().kind == ErrorKind::kConflict;
      return checked;
    }
    if (latest_ && packed.totals.elements_changed == 0) {
      RemoveTree(DeltaFolder());
      report_.already_there = true;
      Describe(HexIdentity(packed.base), packed.totals, Newest());
      return MarkReleased(options_.released);
    }
    std::vector<std::string> files;
    WD_ASSIGN(const std::vector<FolderEntry> entries, ListFolder(DeltaFolder()));
    for (const FolderEntry& entry : entries) {
      if (entry.name != kIndexFile) files.push_back(entry.name);
    }
    files.emplace_back(kIndexFile);
    WD_ASSIGN(const std::vector<FileSum> sums, ListSums(DeltaFolder(), files, context_));
    const std::string sums_text = SumsText(sums);
    PrepareBase(source);
    const VersionPointer pointer{run_, Next()};
    VersionUpload upload(store_, *home_, latest_, pointer, options_.single_writer, session_.jobs(), report_);
    WD_TRY(upload.Begin(packed.result.state, sums_text));
    WD_TRY(MarkReleased(options_.released));
    Describe(HexIdentity(packed.result), packed.totals, Next());
    report_.base_state = Hex(packed.base.state);
    report_.base_fingerprint = Hex(packed.base.fingerprint);
    std::vector<VersionPart> parts = {{.name = kSumsFile, .text = sums_text}};
    for (const FileSum& sum : sums) parts.push_back({sum.name, DeltaFolder() + "/" + sum.name, sum.sha256});
    WD_TRY(upload.Publish(parts, [] { return Result<>(); }));
    RemoveTree(DeltaFolder());
    report_.record.delta_bytes = report_.wire_bytes;
    return {};
  }

  Result<> CheckBase(const Checkpoint& base, const Sha256Digest& state) {
    if (!latest_) return {};
    if (KnowsNewest()) return CheckOwnVersion(store_, *home_, Newest(), base.path(), state);
    return CheckOthersVersion(store_, *home_, Newest(), base, context_);
  }

  bool KnowsNewest() const { return latest_ && home_->published() == PointerText(latest_->pointer); }

  Result<> PushWhole(const Checkpoint& source) {
    const Stopwatch watch;
    for (size_t i = 0; i < source.layout().file_count(); ++i) {
      const std::string& path = source.layout().file(i).path;
      if (!ValidKey(store_.KeyOf(Next(), path))) {
        return Error{ErrorKind::kRefused, "no store takes a file called '" + TerminalText(path) + "'",
                     "letters, digits, '.', '-' and '_' will do; '--exclude' leaves it out"};
      }
    }
    WD_ASSIGN(const CheckpointDigests digests, DigestFiles(source, context_));
    const Identity identity = HexIdentity(digests.identity);
    if (KnowsNewest() && digests.identity.state == home_->base_state()) {
      report_.already_there = true;
      Describe(identity, {}, Newest());
      return MarkReleased(options_.released);
    }
    WD_ASSIGN(const WholeVersion whole, WrapWholeVersion(source, digests.files, Next()));
    report_.pack_seconds = watch.seconds();
    home_->NoteWholeVersion(Next());
    PrepareBase(source);
    const VersionPointer pointer{run_, Next()};
    VersionUpload upload(store_, *home_, latest_, pointer, options_.single_writer, session_.jobs(), report_);
    WD_TRY(upload.Begin(digests.identity.state, whole.sums));
    std::vector<uint64_t> units;
    for (const Tensor& tensor : source.tensors()) units.push_back(tensor.units());
    Describe(identity, Summarize(nullptr, *PairTarget(nullptr, source), units).totals, Next());
    std::vector<VersionPart> parts;
    const std::vector<KeptFile> files = FilesOf(source);
    for (size_t i = 0; i < files.size(); ++i) {
      const bool is_made = files[i].path == kIndexFile || files[i].path == kSumsFile;
      if (!is_made) parts.push_back({files[i].path, files[i].from, digests.files[i]});
    }
    parts.push_back({.name = kSumsFile, .text = whole.sums});
    parts.push_back({.name = kIndexFile, .text = whole.index});
    WD_TRY(upload.Publish(parts, [&]() -> Result<> {
      WD_TRY(source.CheckUnchanged());
      return MarkReleased(options_.released);
    }));
    report_.record.anchor_bytes = report_.wire_bytes;
    return {};
  }

  void Describe(const Identity& identity, const Totals& totals, uint64_t version) {
    report_.record.number = version;
    report_.record.created = static_cast<uint64_t>(std::time(nullptr));
    report_.record.state = identity.state;
    report_.record.fingerprint = identity.fingerprint;
    report_.record.totals = totals;
  }

  // The checkpoint is put aside before any reader can see the version, so that a crash at any moment leaves a base: the
  // old one or this one. A source that is about to be overwritten is copied.
  void PrepareBase(const Checkpoint& source) {
    home_->DropPreparedBase();
    if (options_.keep_base == KeepBase::kOff) return;
    const KeepBase how = options_.released.empty() ? options_.keep_base : KeepBase::kCopy;
    if (const Result<> kept = home_->PrepareBase(FilesOf(source), how); !kept.ok()) {
      context_.note("the next push will need '--base': " + kept.error().message);
    }
  }

  Session& session_;
  const PushOptions& options_;
  VersionStore store_;
  const std::string url_;
  const Context& context_;
  std::optional<PusherState> home_;
  std::optional<LatestVersion> latest_;
  std::string run_;
  bool base_is_wrong_ = false;
  PushReport report_;
};

}  // namespace

Result<PushReport> PublishVersion(Session& session, const PushOptions& options, const Context& context) {
  return VersionPusher(session, options, context).Run();
}

}  // namespace wdelta
