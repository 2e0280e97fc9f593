#include "sync/pusher.h"

#include "core/stopwatch.h"
#include "walk/chain.h"
#include "walk/rebuild.h"

namespace wdelta {

namespace {

class Pusher {
 public:
  Pusher(const PushOptions& options, Session& session, const Context& context)
      : options_(options), session_(session), history_(session.history()), context_(context) {}

  Result<PushReport> Run() {
    if (!options_.tag.empty()) WD_TRY(CheckTagName(options_.tag));
    bool is_pack = options_.source == "-";
    if (!is_pack && IsRegularFile(options_.source)) {
      WD_ASSIGN(is_pack, LooksLikeDelta(options_.source));
    }
    if (is_pack && options_.mirror.empty() && options_.anchor_every > 0) {
      return Error{ErrorKind::kUsage, "an anchor is made from a checkpoint, and only a pack is given",
                   "keep a copy with '--mirror DIR', or push the checkpoint itself"};
    }
    WD_TRY(WaitForMarker(options_.ready, context_.stop));
    WD_TRY(OpenHome(is_pack));
    WD_TRY(ReadTip());
    WD_TRY(CheckStore());
    if (home_) {
      WD_ASSIGN(const bool was_this_one, FinishInterrupted(is_pack));
      if (was_this_one) return report_;
    }
    WD_TRY(is_pack ? PushPackFile() : PushCheckpoint());
    if (!options_.tag.empty()) {
      WD_TRY(WriteTag(session_.remote(), options_.tag, tip_->entry, false));
      report_.record.tags = {options_.tag};
    }
    if (!report_.already_there) WD_TRY(AddAnchorIfDue());
    if (home_) {
      home_->DropSpool();
      RemoveTree(home_->folder() + "/source");
    }
    report_.retries = session_.remote().retries();
    return report_;
  }

  Result<PushReport> Run(const ReadyPack& pack) {
    WD_TRY(ReadTip());
    WD_TRY(CheckStore());
    WD_TRY(PushPack(pack));
    report_.retries = session_.remote().retries();
    return report_;
  }

 private:
  const std::string& url() const { return session_.url(); }

  // A pack from a pipe, without a mirror, needs nothing between two pushes.
  Result<> OpenHome(bool is_pack) {
    const std::string& beside = options_.mirror.empty() ? options_.source : options_.mirror;
    if (is_pack && options_.mirror.empty()) return {};
    WD_ASSIGN(PusherState home, PusherState::Open(beside, url(), options_.mirror, options_.lock_wait, context_.stop));
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
    WD_ASSIGN(const std::optional<ObjectInfo> other, session_.remote().Stat(kLatestKey));
    if (!other) return {};
    return Error{ErrorKind::kConflict, "'" + url() + "' holds versions for other systems, not a history",
                 "push with '--format canonical', or use another remote for a history"};
  }
  Result<bool> TipHasMoved() {
    const uint64_t before = TipNumber();
    history_.LookAgain();
    WD_TRY(ReadTip());
    return TipNumber() > before;
  }
  PushBase Base() { return {options_, *home_, session_, context_}; }
  Error Moved() const { return HistoryMoved(session_.remote(), *tip_, home_ ? Hex(home_->base_state()) : ""); }
  Sha256Digest TipState() const { return tip_ ? tip_->entry.state : Sha256Digest{}; }
  uint64_t TipNumber() const { return tip_ ? tip_->entry.number : 0; }

  // A store that ignores create-if-absent would let two pushers write the same record.
  Result<> CheckStore() {
    if (options_.single_writer || (home_ && home_->store_was_checked())) return {};
    WD_ASSIGN(const bool keeps, KeepsCreateIfAbsent(session_.remote(), context_.note));
    if (keeps) return home_ ? home_->SetStoreChecked() : Result<>();
    return Error{ErrorKind::kRefused,
                 "'" + url() + "' ignores create-if-absent, so two pushers could overwrite each other's records",
                 "if only one process pushes there, use '--single-writer'"};
  }

  // ---- What an interrupted push left ----

  // True: it was this very push, and all is done.
  Result<bool> FinishInterrupted(bool is_pack) {
    WD_ASSIGN(std::optional<SpooledPush> spool, home_->ReadSpool());
    if (!spool) return false;
    WD_ASSIGN(std::optional<RecordEntry> entry, FindCommitted(*spool));
    Result<ReadyPack> pack = CheckPack(home_->spool_path(), context_);
    if (!pack.ok()) {  // the spool is only a help: without it the source is pushed again, unless it is in the history
      if (pack.error().kind == ErrorKind::kInterrupted) return pack.TakeError();
      context_.note("the pack of an interrupted push cannot be used and is dropped: " + pack.error().message);
    } else if (!entry && TipState() == spool->base_state) {
      spool->number = TipNumber() + 1;
      WD_TRY(home_->WriteSpool(*spool));
      WD_ASSIGN(const bool won, Commit(*pack, *spool));
      // The record that is there may be its own: the last request of a push that was killed can arrive this late.
      WD_ASSIGN(entry, won ? Result(std::optional(tip_->entry)) : FindCommitted(*spool));
    }
    if (!entry) {
      if (pack.ok()) context_.note("another pusher has committed since an interrupted push: dropped its pack");
      home_->DropSpool();
      return false;
    }
    context_.note("an interrupted push was finished: record " + std::to_string(entry->number));
    if (!spool->tag.empty()) WD_TRY(WriteTag(session_.remote(), spool->tag, *entry, false));
    if (pack.ok()) WD_TRY(Base().Advance(*pack, nullptr));
    home_->DropSpool();
    // Others may have pushed since; the same source pushed again on top of theirs would be there twice.
    if (is_pack || options_.step != spool->step || options_.tag != spool->tag) return false;
    WD_ASSIGN(const Checkpoint source, Checkpoint::Open(options_.source, options_.files, context_.note));
    WD_ASSIGN(const Proof proof, ProveCheckpoint(source, context_));
    if (proof.state() != spool->state) return false;
    WD_TRY(MarkReleased(options_.released));
    WD_ASSIGN(const auto record, history_.Read(entry->number));
    report_.record = InfoOf(*record);
    report_.retries = session_.remote().retries();
    return true;
  }

  // The record of that push, if it is in the history. States may come back, so its number and its writer tell. A spool
  // that does not say its number is looked for among all records of its state.
  Result<std::optional<RecordEntry>> FindCommitted(const SpooledPush& spool) {
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

  Result<> PushPackFile() {
    const TemporaryTree temporary(TemporaryPath("push.wdp", context_.environment));
    const bool from_pipe = options_.source == "-";
    if (from_pipe) {
      WD_ASSIGN(const File spooled, SpoolStandardInput(context_));
      WD_TRY(CopyInto(spooled, temporary.path, false));
    }
    WD_ASSIGN(const ReadyPack pack, CheckPack(from_pipe ? temporary.path : options_.source, context_));
    WD_TRY(MarkReleased(options_.released));
    return PushPack(pack);
  }

  Result<> PushPack(const ReadyPack& pack) {
    if (IsAlreadyThere(pack)) return ReportTip();
    if (!tip_ && !pack.anchor()) {
      return Error{ErrorKind::kConflict, "'" + url() + "' is empty, and the first record has to be an anchor",
                   "push the checkpoint itself, or a pack made with 'wdelta pack --anchor'"};
    }
    if (tip_ && !pack.anchor() && pack.base().state != TipState()) {
      return WrongBase("'" + options_.source + "'", pack.base());
    }
    if (tip_ && pack.anchor() && !options_.anchor) {
      return Error{ErrorKind::kConflict, "'" + options_.source + "' is an anchor, and the history has a newest record",
                   "every replica would have to fetch all of it; '--anchor' accepts that"};
    }
    const SpooledPush spool = SpoolOf(pack);
    if (!home_) {
      WD_ASSIGN(const bool won, Commit(pack, spool));
      return won ? Result<>() : Moved();
    }
    // The mirror has to follow even if this process does not live to see it.
    WD_ASSIGN(const File file, File::OpenForRead(pack.path()));
    WD_TRY(CopyInto(file, home_->spool_path(), home_->durable()));
    WD_TRY(home_->WriteSpool(spool));
    WD_ASSIGN(const bool won, Commit(pack, spool));
    if (!won) {
      home_->DropSpool();
      return Moved();
    }
    return Base().Advance(pack, nullptr);
  }

  // ---- A checkpoint ----

  Result<> PushCheckpoint() {
    WD_ASSIGN(Checkpoint source, Checkpoint::Open(options_.source, options_.files, context_.note));
    for (unsigned attempt = 0;; ++attempt) {
      Result<std::string> chosen = Base().Choose(tip_.get(), source);
      if (!chosen.ok()) {
        // gc may have removed what leads to the newest record. Then there is a newer one by now.
        WD_ASSIGN(const bool moved, chosen.error().kind == ErrorKind::kNotFound && options_.rebase && attempt < 100
                                        ? TipHasMoved()
                                        : Result<bool>(false));
        if (!moved) return chosen.TakeError();
        continue;
      }
      const std::string base = std::move(*chosen);
      WD_ASSIGN(const ReadyPack pack, PackIntoSpool(base, source));
      if (!base.empty() && pack.base().state != TipState()) return WrongBase("'" + base + "'", pack.base());
      if (IsAlreadyThere(pack)) {
        WD_TRY(MarkReleased(options_.released));
        return ReportTip();
      }
      // From here on the spool can finish the push, so that the trainer need not wait for the store.
      const SpooledPush spool = SpoolOf(pack);
      WD_TRY(home_->WriteSpool(spool));
      WD_TRY(MarkReleased(options_.released));
      WD_ASSIGN(const bool won, Commit(pack, spool));
      if (won) return Base().Advance(pack, options_.released.empty() ? &source : nullptr);
      if (!options_.rebase || attempt == 100) {
        home_->DropSpool();
        return Moved();
      }
      // A source that was released may be another one by now. What it was is in the spool.
      if (!options_.released.empty() && source.path() == options_.source) {
        WD_ASSIGN(source, RebuildSource(base, pack));
      }
      home_->DropSpool();
    }
  }

  Result<ReadyPack> PackIntoSpool(const std::string& base_path, const Checkpoint& source) {
    const Stopwatch watch;
    std::optional<Checkpoint> base;
    if (!base_path.empty()) {
      WD_ASSIGN(base, Checkpoint::Open(base_path, options_.files, context_.note));
    }
    Result<ReadyPack> pack = WritePack(base ? &*base : nullptr, source, home_->spool_path(), options_.level, context_);
    report_.pack_seconds += watch.seconds();
    return pack;
  }

  Result<Checkpoint> RebuildSource(const std::string& base, const ReadyPack& pack) {
    const std::string path = home_->folder() + "/source";
    RemoveTree(path);
    WD_ASSIGN(const OpenedTarget opened, OpenPacks(base, {pack.path()}, options_.files, Trust::kIndex, context_));
    WD_TRY(RebuildCopy(opened, path + "/", false, context_));
    return Checkpoint::Open(path, options_.files, context_.note);
  }

  SpooledPush SpoolOf(const ReadyPack& pack) const {
    return {RandomHex(16), options_.step, options_.tag, pack.base().state, pack.result().state, TipNumber() + 1};
  }

  // ---- The commit ----

  bool IsAlreadyThere(const ReadyPack& pack) const {
    return tip_ && pack.result().state == TipState() && (!options_.step || options_.step == tip_->entry.step);
  }
  Result<> ReportTip() {
    report_.already_there = true;
    report_.record = InfoOf(*tip_);
    if (home_) home_->DropSpool();
    return {};
  }

  // False: another push was faster; tip_ is then its record.
  Result<bool> Commit(const ReadyPack& pack, const SpooledPush& spool) {
    WD_ASSIGN(const std::optional<Committed> committed,
              CommitPack(history_, tip_.get(), pack, spool, options_.single_writer, session_.jobs(), context_));
    if (!committed) {
      WD_TRY(ReadTip());
      return false;
    }
    tip_ = committed->record;
    report_.record = InfoOf(*tip_);
    report_.wire_bytes += committed->wire_bytes;
    report_.upload_seconds += committed->upload_seconds;
    report_.commit_seconds += committed->commit_seconds;
    if (pack.anchor()) return true;
    report_.base_state = Hex(pack.base().state);
    report_.base_fingerprint = Hex(pack.base().fingerprint);
    return true;
  }

  Result<> AddAnchorIfDue() {
    const uint64_t number = tip_->entry.number, every = options_.anchor_every;
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
    const std::string kept = keeps_it ? home_->base_path() : options_.source;
    WD_ASSIGN(const Checkpoint whole,
              Checkpoint::Open(options_.mirror.empty() ? kept : options_.mirror, options_.files, context_.note));
    const std::string scratch = home_ ? home_->folder() + "/anchor.wdp" : TemporaryNameBeside(options_.source);
    WD_ASSIGN(report_.new_anchor_bytes,
              AddAnchor(history_, *tip_, whole, scratch, session_.jobs(), context_, &report_.wire_bytes));
    return {};
  }

  // ---- Why not ----

  Error WrongBase(const std::string& what, const StateDigests& base) const {
    Error error{ErrorKind::kConflict, what + (what == "'" + options_.source + "'" ? " was made for base " : " is ") +
                                          Hex(base.state).substr(0, 12) + ", the newest record of '" + url() + "' is " +
                                          std::to_string(TipNumber()) + " with state " + Hex(TipState()).substr(0, 12)};
    error.expected = Hex(TipState());
    error.found = Hex(base.state);
    const bool kept = home_ && what == "'" + home_->base_path() + "'";
    error.hint = kept ? "the last checkpoint was overwritten where it lay; keep a copy with '--mirror DIR'"
                      : "the base has to be the newest record; 'wdelta pull' brings a folder there";
    return error;
  }

  const PushOptions& options_;
  Session& session_;
  RemoteHistory& history_;
  const Context& context_;
  std::optional<PusherState> home_;
  std::shared_ptr<const Record> tip_;
  PushReport report_;
};

}  // namespace

Result<PushReport> PushToHistory(Session& session, const PushOptions& options, const Context& context) {
  return Pusher(options, session, context).Run();
}

Result<PushReport> PushReadyPack(Session& session, const ReadyPack& pack, const PushOptions& options,
                                 const Context& context) {
  return Pusher(options, session, context).Run(pack);
}

}  // namespace wdelta
