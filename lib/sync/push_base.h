// What a push computes its difference against: a checkpoint that the user names, a mirror that wdelta keeps, or the
// checkpoint of the last push. It has to be in the state of the newest record, and is moved on after the commit.
#pragma once

#include "local/pusher_state.h"
#include "sync/record_commit.h"

namespace wdelta {

class PushBase {
 public:
  PushBase(const PushRequest& request, PusherState& home, RemoteHistory& history, const Context& context)
      : request_(request), home_(home), history_(history), context_(context) {}

  // The base for a record after `tip`, in the state of that as far as is known without reading it; empty: an anchor has
  // to be made. kConflict: there is none, or the history has moved on and --rebase was not asked for.
  Result<std::string> Choose(const Record* tip);

  // Moves the base on to the record that was just committed: from the pack. Only what is kept by links is the source,
  // if that is still there to be kept.
  Result<> BringAlong(const ReadyPack& pack, const std::string& source);

 private:
  Result<> BringToTip(const std::string& base, const Sha256Digest& state, const Record& tip);
  Result<> MoveMirror(const ReadyPack& pack);
  Result<> Rebuild(const std::string& base, const std::vector<std::string>& paths);
  Result<std::string> NoBase(const Record& tip) const;

  const PushRequest& request_;
  PusherState& home_;
  RemoteHistory& history_;
  const Context& context_;
};

// "the history has moved on", with what was expected.
Error HistoryMoved(const Remote& remote, const Record& tip, const std::string& expected_state);

}  // namespace wdelta
