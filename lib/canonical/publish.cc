// A checkpoint becomes the next version: the delta from the one before, or all of it. Nothing in the store says what
// the newest version looks like, so the pusher remembers which version its base is.
#include "canonical/publish.h"

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "calls/hex_identity.h"
#include "canonical/publish_base.h"
#include "canonical/version_upload.h"
#include "canonical/whole_version.h"
#include "core/stopwatch.h"
#include "core/text.h"
#include "history/revision.h"
#include "local/trainer_handshake.h"
#include "remote/remote_key.h"
#include "sync/record_commit.h"
#include "walk/difference.h"
#include "walk/rebuild.h"
#include "wdelta.h"

namespace wdelta {

namespace {

class VersionPusher {
 public:
  VersionPusher(const PushRequest& request, Remote& remote, const Context& context)
      : request_(request), store_(remote), url_(remote.url()), context_(context) {}

  Result<PushReport> Run() {
    WD_TRY(WaitForMarker(request_.ready, context_.stop));
    WD_ASSIGN(PusherState home, PusherState::Open(request_.source, url_, "", request_.lock_wait, context_.stop));
    home_.emplace(std::move(home));
    WD_ASSIGN(latest_, store_.ReadPointer());
    WD_TRY(ChooseRun());
    WD_TRY(ProveStore());
    WD_TRY(FinishInterrupted());
    WD_ASSIGN(const std::string base, ChooseBase());
    Result<> pushed = base.empty() ? PushWhole() : PushDelta(base);
    if (!pushed.ok() && base_is_wrong_ && request_.anchor) {
      context_.note(pushed.error().message + "; sending all of the model");
      pushed = PushWhole();
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
      if (request_.run.empty() || request_.run == run_) return {};
      return Error{ErrorKind::kConflict, "'" + url_ + "' holds the versions of run '" + run_ + "'",
                   "give run '" + request_.run + "' a remote of its own"};
    }
    const Result<LatestVersion> unpointed = store_.FindUnpointed();
    if (!unpointed.ok() && unpointed.error().kind != ErrorKind::kNotFound) return Error(unpointed.error());
    if (unpointed.ok() && unpointed->pointer.version != home_->publishing()) {
      return Error{ErrorKind::kConflict,
                   "'" + url_ + "' holds versions up to " + VersionName(unpointed->pointer.version) +
                       " and no pointer to them: another system writes there",
                   "give the versions of this run a remote of their own"};
    }
    WD_ASSIGN(const uint64_t records, RemoteHistory(store_.remote()).FindTip());
    if (records > 0) {
      return Error{ErrorKind::kConflict, "'" + url_ + "' holds a history of wdelta",
                   "push without '--format canonical', or give the versions a remote of their own"};
    }
    run_ = request_.run.empty() ? LastComponent(url_) : request_.run;
    return CheckRunName(run_);
  }

  // A store that takes no notice of conditions would let two pushers move the pointer.
  Result<> ProveStore() {
    if (request_.single_writer || home_->store_is_proved()) return {};
    WD_ASSIGN(const bool creates, KeepsCreateIfAbsent(store_.remote(), context_.note));
    WD_ASSIGN(const bool replaces, KeepsConditionalReplace(store_.remote(), context_.note));
    if (creates && replaces) return home_->SetStoreProved();
    return Error{
        ErrorKind::kRefused,
        "'" + url_ + "' ignores the conditions of a write, so two pushers could overwrite each other's versions",
        "if only one process ever pushes there, say so with '--single-writer'"};
  }

  // The last push may have moved the pointer and not lived to move its base on.
  Result<> FinishInterrupted() {
    RemoveTree(DeltaFolder());
    if (home_->publishing() == 0 || home_->publishing() != Newest()) return {};
    const std::string key = store_.KeyOf(Newest(), kSumsFile);
    Result<ObjectPiece> sums = store_.remote().Read(key, 0, kMaxSumsBytes);
    if (!sums.ok() && sums.error().kind != ErrorKind::kNotFound) return sums.TakeError();
    if (!sums.ok() || DigestSha256(sums->bytes) != home_->publishing_proof()) return home_->StopPublishing();
    context_.note("an interrupted push was finished: version " + VersionName(Newest()));
    return home_->FinishPublishing(PointerText(latest_->pointer));
  }

  // ---- What it is computed against ----

  // Empty: all of the checkpoint is sent.
  Result<std::string> ChooseBase() {
    WD_ASSIGN(const bool due, WholeIsDue());
    if (due) return std::string();
    if (!request_.base.empty()) return request_.base;
    if (!latest_) return std::string();
    if (home_->HasKeptBase() && KnowsNewest()) return home_->base_path();
    if (request_.anchor) return std::string();
    const bool moved = home_->HasKeptBase();
    const std::string newest = "version " + VersionName(Newest());
    Error error{ErrorKind::kConflict,
                "the newest version of '" + url_ + "' is " + VersionName(Newest()) +
                    (moved ? ", pushed by somebody else" : ", and the last push has kept no base")};
    error.expected = moved ? home_->published() : "";
    error.found = PointerText(latest_->pointer);
    error.hint = "name the checkpoint of " + newest + " with '--base', or send all of the model with '--anchor'";
    return error;
  }

  Result<bool> WholeIsDue() {
    const uint64_t every = request_.anchor_every;
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

  Result<> PushDelta(const std::string& base) {
    const Stopwatch watch;
    PackRequest pack;
    pack.inputs = {base, request_.source};
    pack.format = "canonical";
    pack.encoding = request_.encoding;
    pack.checksum = request_.checksum;
    pack.version = VersionName(Next());
    pack.base_version = VersionName(Newest());
    pack.output = DeltaFolder();
    pack.files = request_.files;
    WD_ASSIGN(const PackReport packed, Pack(pack, context_));
    report_.pack_seconds = watch.seconds();
    if (Result<> checked = CheckBase(base, packed.base.state); !checked.ok()) {
      RemoveTree(DeltaFolder());
      base_is_wrong_ = checked.error().kind == ErrorKind::kConflict;
      return checked;
    }
    if (latest_ && packed.totals.elements_changed == 0) {
      RemoveTree(DeltaFolder());
      report_.already_there = true;
      Describe(packed.base, packed.totals, Newest());
      return MarkReleased(request_.released);
    }
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(DeltaFolder())) {
      if (entry.path().filename() != kIndexFile) files.push_back(entry.path().filename().string());
    }
    std::sort(files.begin(), files.end());
    files.emplace_back(kIndexFile);
    WD_ASSIGN(const std::string sums, ListSums(DeltaFolder(), files, context_.stop));
    Sha256Digest state{};
    FromHex(packed.result.state, state);
    WD_TRY(PrepareBase());
    const VersionPointer pointer{run_, Next()};
    VersionUpload upload(store_, *home_, latest_, pointer, request_);
    WD_TRY(upload.Begin(state, sums));
    WD_TRY(MarkReleased(request_.released));
    Describe(packed.result, packed.totals, Next());
    report_.base_state = packed.base.state;
    report_.base_fingerprint = packed.base.fingerprint;
    WD_TRY(upload.Publish(files.size() + 1, [&](size_t i) -> Result<uint64_t> {
      if (i == 0) return upload.Send(kSumsFile, MemorySource(AsBytes(sums)));
      return upload.SendFile(files[i - 1], DeltaFolder() + "/" + files[i - 1]);
    }));
    RemoveTree(DeltaFolder());
    Tell(upload);
    report_.record.delta_bytes = report_.wire_bytes;
    return {};
  }

  Result<> CheckBase(const std::string& base, const std::string& state) {
    if (!latest_) return {};
    if (KnowsNewest()) return CheckOwnVersion(store_, *home_, Newest(), base, state);
    WD_ASSIGN(const Checkpoint checkpoint, Checkpoint::Open(base, request_.files, [](const std::string&) {}));
    return CheckOthersVersion(store_, *home_, Newest(), checkpoint, context_);
  }

  bool KnowsNewest() const { return latest_ && home_->published() == PointerText(latest_->pointer); }

  Result<> PushWhole() {
    const Stopwatch watch;
    WD_ASSIGN(const Checkpoint source, Checkpoint::Open(request_.source, request_.files, context_.note));
    std::vector<size_t> files;
    for (size_t i = 0; i < source.layout().file_count(); ++i) {
      const std::string& path = source.layout().file(i).path;
      if (!ValidKey(store_.KeyOf(Next(), path))) {
        return Error{ErrorKind::kRefused, "no store takes a file called '" + TerminalText(path) + "'",
                     "letters, digits, '.', '-' and '_' will do; '--exclude' leaves it out"};
      }
      if (path != kIndexFile && path != kSumsFile) files.push_back(i);
    }
    WD_ASSIGN(const Proof proof, ProveCheckpoint(source, context_));
    if (KnowsNewest() && proof.state() == home_->base_state()) {
      report_.already_there = true;
      Describe(HexIdentity(proof.digests()), {}, Newest());
      return MarkReleased(request_.released);
    }
    WD_ASSIGN(const WholeVersion whole, WrapWholeVersion(source, Next(), context_.stop));
    report_.pack_seconds = watch.seconds();
    home_->NoteWholeVersion(Next());
    WD_TRY(PrepareBase());
    const VersionPointer pointer{run_, Next()};
    VersionUpload upload(store_, *home_, latest_, pointer, request_);
    WD_TRY(upload.Begin(proof.state(), whole.sums));
    std::vector<uint64_t> units;
    for (const Tensor& tensor : source.tensors()) units.push_back(tensor.units());
    Describe(HexIdentity(proof.digests()), Summarize(nullptr, *PairTarget(nullptr, source), units).totals, Next());
    WD_TRY(upload.Publish(files.size() + 2, [&](size_t i) -> Result<uint64_t> {
      if (i < files.size()) return upload.SendFile(source.layout().file(files[i]).path, PathOfFile(source, files[i]));
      const bool is_last = i > files.size();
      if (!is_last) return upload.Send(kSumsFile, MemorySource(AsBytes(whole.sums)));
      WD_TRY(source.CheckUnchanged());
      WD_TRY(MarkReleased(request_.released));
      return upload.Send(kIndexFile, MemorySource(AsBytes(whole.index)));
    }));
    Tell(upload);
    report_.record.anchor_bytes = report_.wire_bytes;
    return {};
  }

  void Tell(const VersionUpload& upload) {
    report_.wire_bytes = upload.wire_bytes();
    report_.upload_seconds = upload.upload_seconds();
    report_.commit_seconds = upload.commit_seconds();
  }

  void Describe(const Identity& identity, const Totals& totals, uint64_t version) {
    report_.record.number = version;
    report_.record.created = static_cast<uint64_t>(std::time(nullptr));
    report_.record.state = identity.state;
    report_.record.fingerprint = identity.fingerprint;
    report_.record.totals = totals;
  }

  // The checkpoint is put aside before anybody can see the version, so that a crash at any moment leaves a base: the
  // old one or this one. A source that is about to be overwritten is copied.
  Result<> PrepareBase() {
    home_->DropPreparedBase();
    if (request_.keep_base == "off") return {};
    WD_ASSIGN(const Checkpoint source, Checkpoint::Open(request_.source, request_.files, [](const std::string&) {}));
    const std::string how = request_.released.empty() ? request_.keep_base : "copy";
    if (const Result<> kept = home_->PrepareBase(request_.source, source.layout(), how); !kept.ok()) {
      context_.note("the next push will need '--base': " + kept.error().message);
    }
    return {};
  }

  const PushRequest& request_;
  VersionStore store_;
  const std::string url_;
  const Context& context_;
  std::optional<PusherState> home_;
  std::optional<LatestVersion> latest_;
  std::string run_;
  bool base_is_wrong_ = false;
  PushReport report_;
};

// What a version has no place for, or no need of.
Result<> CheckRequest(const PushRequest& request) {
  const std::pair<bool, const char*> misplaced[] = {{request.step.has_value(), "--step"},
                                                    {!request.tag.empty(), "--tag"},
                                                    {!request.mirror.empty(), "--mirror"},
                                                    {request.rebase, "--rebase"}};
  for (const auto& [is_given, option] : misplaced) {
    if (is_given) {
      return Error{ErrorKind::kUsage, std::string("'") + option + "' does not go with '--format canonical'",
                   "versions are numbered one after the other, and a base is kept with '--keep-base'"};
    }
  }
  if (!request.run.empty()) WD_TRY(CheckRunName(request.run));
  bool is_delta = request.source == "-";
  if (!is_delta) {
    WD_ASSIGN(is_delta, LooksLikeDelta(request.source));
  }
  if (!is_delta) return {};
  return Error{ErrorKind::kUsage, "'--format canonical' takes a checkpoint, and '" + request.source + "' is none",
               "rebuild it first: 'wdelta apply BASE " + request.source + " -o CKPT'"};
}

}  // namespace

Result<PushReport> PushVersion(const PushRequest& request, const Context& context) {
  WD_TRY(CheckRequest(request));
  WD_ASSIGN(const RemoteName name, ParseRemoteName(request.remote));
  if (name.given) return Error{ErrorKind::kUsage, "a push goes to the end, not to a version that is there"};
  WD_ASSIGN(const std::unique_ptr<Remote> remote, OpenRemote(name.url, request.transfer, context));
  return VersionPusher(request, *remote, context).Run();
}

}  // namespace wdelta
