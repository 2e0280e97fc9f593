// Pushing: a checkpoint or a pack becomes the next record of a history. The source is read once, into a spooled pack;
// everything after that works from the spool, and a push that was cut off is finished by the next one.
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "canonical/publish.h"
#include "canonical/version_store.h"
#include "core/parallel.h"
#include "core/stopwatch.h"
#include "local/trainer_handshake.h"
#include "sync/push_base.h"
#include "sync/record_info.h"
#include "walk/rebuild.h"
#include "wdelta.h"

namespace wdelta {

namespace {

class Pusher {
 public:
  Pusher(const PushRequest& request, Remote& remote, const Context& context)
      : request_(request), history_(remote), url_(remote.url()), context_(context) {}

  Result<PushReport> Run() {
    if (!request_.tag.empty()) WD_TRY(CheckTagName(request_.tag));
    bool is_pack = request_.source == "-";
    if (!is_pack && std::filesystem::is_regular_file(request_.source)) {
      WD_ASSIGN(is_pack, LooksLikeDelta(request_.source));
    }
    if (is_pack && request_.mirror.empty() && request_.anchor_every > 0) {
      return Error{ErrorKind::kUsage, "an anchor is made from a checkpoint, and only a pack is given",
                   "keep a copy with '--mirror DIR', or push the checkpoint itself"};
    }
    WD_TRY(WaitForMarker(request_.ready, context_.stop));
    WD_TRY(OpenHome(is_pack));
    WD_TRY(ReadTip());
    WD_TRY(ProveStore());
    if (home_) {
      WD_ASSIGN(const bool was_this_one, FinishInterrupted(is_pack));
      if (was_this_one) return report_;
    }
    WD_TRY(is_pack ? PushPack() : PushCheckpoint());
    if (!request_.tag.empty()) {
      WD_TRY(WriteTag(history_.remote(), request_.tag, tip_->entry, false));
      report_.record.tags = {request_.tag};
    }
    if (!report_.already_there) WD_TRY(AddAnchorIfDue());
    if (home_) {
      home_->DropSpool();
      RemoveTree(home_->folder() + "/source");
    }
    report_.retries = history_.remote().retries();
    return report_;
  }

 private:
  // A pack from a pipe, without a mirror, needs nothing between two pushes.
  Result<> OpenHome(bool is_pack) {
    const std::string& beside = request_.mirror.empty() ? request_.source : request_.mirror;
    if (is_pack && request_.mirror.empty()) return {};
    WD_ASSIGN(PusherState home, PusherState::Open(beside, url_, request_.mirror, request_.lock_wait, context_.stop));
    home_.emplace(std::move(home));
    return {};
  }

  Result<> ReadTip() {
    WD_ASSIGN(const uint64_t number, history_.FindTip());
    tip_.reset();
    if (number > 0) {
      WD_ASSIGN(tip_, history_.Read(number));
      return {};
    }
    WD_ASSIGN(const std::optional<LatestVersion> other, VersionStore(history_.remote()).ReadPointer());
    if (!other) return {};
    return Error{ErrorKind::kConflict, "'" + url_ + "' holds versions for other systems, not a history",
                 "push with '--format canonical', or begin a history at a remote of its own"};
  }
  Result<bool> TipHasMoved() {
    const uint64_t before = TipNumber();
    history_.LookAgain();
    WD_TRY(ReadTip());
    return TipNumber() > before;
  }
  PushBase Base() { return {request_, *home_, history_, context_}; }
  Error Moved() const { return HistoryMoved(history_.remote(), *tip_, home_ ? Hex(home_->base_state()) : ""); }
  Sha256Digest TipState() const { return tip_ ? tip_->entry.state : Sha256Digest{}; }
  uint64_t TipNumber() const { return tip_ ? tip_->entry.number : 0; }

  // A store that takes no notice of create-if-absent would let two pushers write the same record.
  Result<> ProveStore() {
    if (request_.single_writer || (home_ && home_->store_is_proved())) return {};
    WD_ASSIGN(const bool keeps, KeepsCreateIfAbsent(history_.remote(), context_.note));
    if (keeps) return home_ ? home_->SetStoreProved() : Result<>();
    return Error{ErrorKind::kRefused,
                 "'" + url_ + "' ignores create-if-absent, so two pushers could overwrite each other's records",
                 "if only one process ever pushes there, say so with '--single-writer'"};
  }

  // ---- What an interrupted push left ----

  // True: it was this very push, and all is done.
  Result<bool> FinishInterrupted(bool is_pack) {
    WD_ASSIGN(std::optional<Spool> spool, home_->ReadSpool());
    if (!spool) return false;
    WD_ASSIGN(const ReadyPack pack, InspectPack(home_->spool_path(), Trust::kWhole, context_));
    WD_ASSIGN(std::optional<RecordEntry> entry, FindCommitted(*spool));
    if (!entry && TipState() == spool->base_state) {
      spool->number = TipNumber() + 1;
      WD_TRY(home_->WriteSpool(*spool));
      WD_ASSIGN(const bool won, Commit(pack, *spool));
      if (won) entry = tip_->entry;
    }
    if (!entry) {
      context_.note("a push was interrupted and somebody else has pushed since: its pack is dropped");
      home_->DropSpool();
      return false;
    }
    context_.note("an interrupted push was finished: record " + std::to_string(entry->number));
    if (!spool->tag.empty()) WD_TRY(WriteTag(history_.remote(), spool->tag, *entry, false));
    WD_TRY(Base().BringAlong(pack, {}));
    home_->DropSpool();
    // Others may have pushed since; pushing the same again on top of theirs would double it.
    if (is_pack || request_.step != spool->step || request_.tag != spool->tag) return false;
    WD_ASSIGN(const Checkpoint source, Checkpoint::Open(request_.source, request_.files, context_.note));
    WD_ASSIGN(const Proof proof, ProveCheckpoint(source, context_));
    if (proof.state() != spool->state) return false;
    WD_TRY(MarkReleased(request_.released));
    WD_ASSIGN(const auto record, history_.Read(entry->number));
    report_.record = InfoOf(*record);
    report_.retries = history_.remote().retries();
    return true;
  }

  // The record of that push, if it is in the history. States may come back, so its number and its writer tell. A spool
  // that does not say its number is looked for among all records of its state.
  Result<std::optional<RecordEntry>> FindCommitted(const Spool& spool) {
    const uint64_t first = spool.number ? spool.number : 1, last = spool.number ? spool.number : TipNumber();
    if (last > TipNumber()) return std::optional<RecordEntry>();
    WD_ASSIGN(const std::vector<RecordEntry> entries, history_.Entries(first, last));
    for (const RecordEntry& entry : entries) {
      if (entry.state != spool.state) continue;
      WD_ASSIGN(const auto record, history_.Read(entry.number));
      if (record->writer == spool.writer) return std::optional(entry);
    }
    return std::optional<RecordEntry>();
  }

  // ---- A pack ----

  Result<> PushPack() {
    std::string path = request_.source, temporary;
    if (path == "-") {
      WD_ASSIGN(const File spooled, SpoolStandardInput(context_.stop));
      temporary = TemporaryPath("push.wdp");
      WD_TRY(CopyInto(spooled, temporary, false));
      path = temporary;
    }
    Result<> pushed = PushPackAt(path);
    if (!temporary.empty()) unlink(temporary.c_str());
    return pushed;
  }

  Result<> PushPackAt(const std::string& path) {
    WD_ASSIGN(const ReadyPack pack, InspectPack(path, Trust::kWhole, context_));
    WD_TRY(MarkReleased(request_.released));
    if (IsAlreadyThere(pack)) return ReportTip();
    if (!tip_ && !pack.anchor) {
      return Error{ErrorKind::kConflict, "'" + url_ + "' is empty, and the first record has to be an anchor",
                   "push the checkpoint itself, or a pack made with 'wdelta pack --anchor'"};
    }
    if (tip_ && !pack.anchor && pack.base.state != TipState()) return WrongBase("'" + request_.source + "'", pack.base);
    if (tip_ && pack.anchor && !request_.anchor) {
      return Error{ErrorKind::kConflict, "'" + request_.source + "' is an anchor, and the history has a newest record",
                   "every replica would have to fetch all of it; '--anchor' accepts that"};
    }
    Spool spool{RandomHex(16), request_.step, request_.tag, pack.base.state, pack.result.state, TipNumber() + 1};
    if (!home_) {
      WD_ASSIGN(const bool won, Commit(pack, spool));
      return won ? Result<>() : Moved();
    }
    // The mirror has to follow even if this process does not live to see it.
    WD_ASSIGN(const File file, File::OpenForRead(path));
    WD_TRY(CopyInto(file, home_->spool_path(), false));
    WD_TRY(home_->WriteSpool(spool));
    WD_ASSIGN(const bool won, Commit(pack, spool));
    if (!won) {
      home_->DropSpool();
      return Moved();
    }
    return Base().BringAlong(pack, {});
  }

  // ---- A checkpoint ----

  Result<> PushCheckpoint() {
    std::string source = request_.source;
    for (unsigned attempt = 0;; ++attempt) {
      Result<std::string> chosen = Base().Choose(tip_.get());
      if (!chosen.ok()) {
        // What leads to the newest record may have been collected meanwhile. Then there is a newer one by now.
        WD_ASSIGN(const bool moved, chosen.error().kind == ErrorKind::kNotFound && request_.rebase && attempt < 100
                                        ? TipHasMoved()
                                        : Result<bool>(false));
        if (!moved) return chosen.TakeError();
        continue;
      }
      const std::string base = std::move(*chosen);
      WD_ASSIGN(const ReadyPack pack, PackIntoSpool(base, source));
      if (!base.empty() && pack.base.state != TipState()) return WrongBase("'" + base + "'", pack.base);
      if (IsAlreadyThere(pack)) {
        WD_TRY(MarkReleased(request_.released));
        return ReportTip();
      }
      Spool spool{RandomHex(16), request_.step, request_.tag, pack.base.state, pack.result.state, TipNumber() + 1};
      WD_TRY(home_->WriteSpool(spool));
      WD_TRY(MarkReleased(request_.released));
      WD_ASSIGN(const bool won, Commit(pack, spool));
      if (won) {
        const bool still_there = request_.released.empty();
        return Base().BringAlong(pack, still_there ? source : "");
      }
      if (!request_.rebase || attempt == 100) {
        home_->DropSpool();
        return Moved();
      }
      // The source was promised to be read once. What it was is in the spool.
      if (!request_.released.empty() && source == request_.source) {
        source = home_->folder() + "/source";
        RemoveTree(source);
        ApplyRequest apply;
        apply.base = base.empty() ? pack.path : base;
        if (!base.empty()) apply.deltas = {pack.path};
        apply.output = source + "/";
        apply.durable = false;
        WD_TRY(Apply(apply, context_));
      }
      home_->DropSpool();
    }
  }

  Result<ReadyPack> PackIntoSpool(const std::string& base, const std::string& source) {
    const Stopwatch watch;
    PackRequest request;
    request.inputs = base.empty() ? std::vector{source} : std::vector{base, source};
    request.anchor = base.empty();
    request.output = home_->spool_path();
    request.level = request_.level;
    request.files = request_.files;
    WD_TRY(Pack(request, context_));
    report_.pack_seconds += watch.seconds();
    return InspectPack(home_->spool_path(), Trust::kIndex, context_);
  }

  // ---- The commit ----

  bool IsAlreadyThere(const ReadyPack& pack) const {
    return tip_ && pack.result.state == TipState() && (!request_.step || request_.step == tip_->entry.step);
  }
  Result<> ReportTip() {
    report_.already_there = true;
    report_.record = InfoOf(*tip_);
    if (home_) home_->DropSpool();
    return {};
  }

  // False: somebody else was faster; the tip is then the new one.
  Result<bool> Commit(const ReadyPack& pack, const Spool& spool) {
    WD_ASSIGN(const std::optional<Committed> committed,
              CommitPack(history_, tip_.get(), pack, {spool.writer, spool.step}, request_.single_writer,
                         request_.transfer.jobs, context_));
    if (!committed) {
      WD_TRY(ReadTip());
      return false;
    }
    tip_ = committed->record;
    report_.record = InfoOf(*tip_);
    report_.wire_bytes += committed->wire_bytes;
    report_.upload_seconds += committed->upload_seconds;
    report_.commit_seconds += committed->commit_seconds;
    if (pack.anchor) return true;
    report_.base_state = Hex(pack.base.state);
    report_.base_fingerprint = Hex(pack.base.fingerprint);
    return true;
  }

  Result<> AddAnchorIfDue() {
    const uint64_t number = tip_->entry.number, every = request_.anchor_every;
    if (every == 0 || number <= every) return {};
    WD_ASSIGN(const TipHint hint, history_.ReadHint());
    for (const uint64_t anchor : hint.anchors) {
      if (anchor + every > number) return {};
    }
    WD_ASSIGN(const std::vector<RecordEntry> entries, history_.Entries(number - every + 1, number));
    for (const RecordEntry& entry : entries) {
      if (entry.anchor) return {};
    }
    const bool keeps_it = home_ && home_->HasKeptBase() && home_->base_state() == TipState();
    const std::string kept = keeps_it ? home_->base_path() : request_.source;
    PackRequest anchor;
    anchor.inputs = {request_.mirror.empty() ? kept : request_.mirror};
    anchor.anchor = true;
    anchor.output = home_ ? home_->folder() + "/anchor.wdp" : TemporaryNameBeside(request_.source);
    anchor.files = request_.files;
    WD_ASSIGN(report_.new_anchor_bytes,
              AddAnchor(history_, *tip_, anchor, request_.transfer.jobs, context_, &report_.wire_bytes));
    return {};
  }

  // ---- Why not ----

  Error WrongBase(const std::string& what, const StateDigests& base) const {
    Error error{ErrorKind::kConflict, what + (what == "'" + request_.source + "'" ? " was made for base " : " is ") +
                                          Hex(base.state).substr(0, 12) + ", the newest record of '" + url_ + "' is " +
                                          std::to_string(TipNumber()) + " with state " + Hex(TipState()).substr(0, 12)};
    error.expected = Hex(TipState());
    error.found = Hex(base.state);
    const bool kept = home_ && what == "'" + home_->base_path() + "'";
    error.hint = kept ? "the last checkpoint was overwritten where it lay; keep a copy with '--mirror DIR'"
                      : "the base has to be the newest record; 'wdelta pull' brings a folder there";
    return error;
  }

  const PushRequest& request_;
  RemoteHistory history_;
  const std::string url_;
  const Context& context_;
  std::optional<PusherState> home_;
  std::shared_ptr<const Record> tip_;
  PushReport report_;
};

}  // namespace

Result<PushReport> Push(const PushRequest& request, const Context& context) {
  if (request.format == "canonical") return PushVersion(request, context);
  if (!request.base.empty() && !request.mirror.empty()) {
    return Error{ErrorKind::kUsage, "a push takes a base or a mirror, not both"};
  }
  WD_ASSIGN(const RemoteName name, ParseRemoteName(request.remote));
  if (name.given) return Error{ErrorKind::kUsage, "a push goes to the end of a history, not to one of its records"};
  WD_ASSIGN(const std::unique_ptr<Remote> remote, OpenRemote(name.url, request.transfer, context));
  return Pusher(request, *remote, context).Run();
}

}  // namespace wdelta
