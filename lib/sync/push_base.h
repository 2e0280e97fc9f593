// What a push computes its difference against: a checkpoint that the user names, a mirror that wdelta keeps, or the
// checkpoint of the last push. The base has to be in the state of the newest record, and is advanced after the commit.
#pragma once

#include "local/pusher_state.h"
#include "reports.h"
#include "sync/record_commit.h"
#include "sync/session.h"

namespace wdelta {

class PushBase {
 public:
  PushBase(const PushOptions& options, PusherState& home, Session& session, const Context& context)
      : options_(options), home_(home), session_(session), context_(context) {}

  // The path of the base for a record after `tip`, which has the state of that as far as is known without reading it;
  // empty: the push has to send an anchor of `source`. kConflict: there is no base, or the history has moved on and
  // --rebase was not asked for.
  Result<std::string> Choose(const Record* tip, const Checkpoint& source);

  // Advances the base to the committed record by applying its pack. A base kept by hard links or as a copy is taken
  // from the source instead, if that still exists (null: it does not).
  Result<> Advance(const ReadyPack& pack, const Checkpoint* source);

 private:
  // Where the base lies that wdelta keeps.
  std::string KeptPath() const { return options_.mirror.empty() ? home_.base_path() : options_.mirror; }
  Result<> BringToTip(const std::string& base, const Sha256Digest& state, const Record& tip);
  Result<> AdvanceMirror(const ReadyPack& pack);
  Result<> Rebuild(const std::string& base, const std::vector<std::string>& packs);
  Error NoBase(const Record& tip, uint64_t source_bytes) const;

  const PushOptions& options_;
  PusherState& home_;
  Session& session_;
  const Context& context_;
};

// "the history has moved on", with what was expected.
Error HistoryMoved(const Remote& remote, const Record& tip, const std::string& expected_state);

// The files of an open checkpoint, as a base keeps them.
std::vector<KeptFile> FilesOf(const Checkpoint& checkpoint);

}  // namespace wdelta
